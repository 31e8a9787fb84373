import { type Static, Type } from 'typebox'
import { userSchema } from '#access/accounts/user-schema.ts'
import {
  AnyObjectOrNull,
  Id,
  IntegerOrNull,
  namedObject,
  refOrNull,
  TextOrNull,
  Timestamp,
} from '#platform/http/schemas.ts'

const values = (description: string) => AnyObjectOrNull({ description })

export const auditEntrySchema = namedObject('AuditEntry', {
  id: Id,
  organization_id: IntegerOrNull({
    description: 'The organization that it belongs to; null for accounts and their tokens.',
  }),
  occurred_at: Timestamp,
  user: refOrNull(userSchema),
  ip_address: TextOrNull(),
  request_id: TextOrNull({ description: 'The request that made the change, as in the log.' }),
  verb: Type.String({ description: 'What was done: `created`, `changed`, `removed`, …' }),
  subject_type: Type.String({ description: 'The type of resource: `project`, `server`, `member`, …' }),
  subject_id: Type.String(),
  subject_name: Type.String({ description: 'Its name at that time.' }),
  before: values('The values before, without secrets; null when it was created.'),
  after: values('The values after, without secrets; null when it was removed.'),
})

export type AuditEntry = Static<typeof auditEntrySchema>
