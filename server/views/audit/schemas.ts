import { userSchema } from '#access/accounts/user-schema.ts'
import * as t from '#platform/http/schemas.ts'

const values = (description: string) => t.AnyObjectOrNull({ description })

export const auditEntrySchema = t.namedObject('AuditEntry', {
  id: t.idOf('entry'),
  organization_id: t.IntegerOrNull(
    'The organization that it belongs to; null for accounts and their tokens.',
  ),
  occurred_at: t.Time('When it happened.'),
  user: t.described(t.refOrNull(userSchema), 'Who did it; null when no user was signed in.'),
  ip_address: t.TextOrNull('Where the request came from; null without a request.'),
  request_id: t.TextOrNull('The request that made the change, as in the log; null without one.'),
  verb: t.Text('What was done: `created`, `changed`, `removed` and others.'),
  subject_type: t.Text('The type of resource: `project`, `server`, `member` and others.'),
  subject_id: t.Text('The id of the resource, as text.'),
  subject_name: t.Text('Its name at that time.'),
  before: values('The values before, without secrets; null when it was created.'),
  after: values('The values after, without secrets; null when it was removed.'),
})

export type AuditEntry = t.Static<typeof auditEntrySchema>

export const auditSchemas = [auditEntrySchema]
