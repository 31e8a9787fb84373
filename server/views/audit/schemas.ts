import { type Static, Type } from 'typebox'
import { userSchema } from '#access/accounts/user-schema.ts'
import {
  AnyObjectOrNull,
  described,
  IntegerOrNull,
  idOf,
  namedObject,
  refOrNull,
  TextOrNull,
  Timestamp,
} from '#platform/http/schemas.ts'

const values = (description: string) => AnyObjectOrNull({ description })

export const auditEntrySchema = namedObject('AuditEntry', {
  id: idOf('entry'),
  organization_id: IntegerOrNull({
    description: 'The organization that it belongs to; null for accounts and their tokens.',
  }),
  occurred_at: described(Timestamp, 'When it happened.'),
  user: described(refOrNull(userSchema), 'Who did it; null when nobody was signed in.'),
  ip_address: TextOrNull({ description: 'Where the request came from; null without a request.' }),
  request_id: TextOrNull({
    description: 'The request that made the change, as in the log; null without one.',
  }),
  verb: Type.String({ description: 'What was done: `created`, `changed`, `removed` and others.' }),
  subject_type: Type.String({
    description: 'The type of resource: `project`, `server`, `member` and others.',
  }),
  subject_id: Type.String({ description: 'The id of the resource, as text.' }),
  subject_name: Type.String({ description: 'Its name at that time.' }),
  before: values('The values before, without secrets; null when it was created.'),
  after: values('The values after, without secrets; null when it was removed.'),
})

export type AuditEntry = Static<typeof auditEntrySchema>
