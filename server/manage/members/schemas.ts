// The members room: who belongs to an organization, with which roles in which parts of it, and the custom roles of an
// organization.
import { type Static, Type } from 'typebox'
import { userSchema } from '#access/accounts/user-schema.ts'
import { BUILT_IN_ROLES, PERMISSIONS, type Permission } from '#access/authorization/permissions.ts'
import {
  described,
  Exactly,
  Id,
  IdOrNull,
  idOf,
  idOrNullOf,
  Name,
  namedObject,
  ref,
  TextOrNull,
  Timestamp,
  timestamps,
  Word,
} from '#platform/http/schemas.ts'

export const roleSchema = namedObject('Role', {
  id: idOf('role'),
  organization_id: idOf('organization'),
  name: Type.String({ description: 'The name of the role.' }),
  permissions: Type.Array(Type.String(), { description: 'What the role allows, such as `pipeline:run`.' }),
  ...timestamps,
})
export type Role = Static<typeof roleSchema>

export const grantSchema = namedObject('Grant', {
  id: idOf('grant'),
  role: Type.Unsafe<(typeof BUILT_IN_ROLES)[number] | null>({
    type: ['string', 'null'],
    enum: [...BUILT_IN_ROLES, null],
    description: 'A built-in role; null for a custom role.',
  }),
  role_id: idOrNullOf('custom role', 'null for a built-in role'),
  role_name: Type.String({ description: 'The name of the role, for display.' }),
  project_id: idOrNullOf('project that it is limited to', 'null: not limited to one'),
  environment_id: idOrNullOf('environment that it is limited to', 'null: not limited to one'),
  source: Word(['manual', 'oidc'], {
    description:
      '`oidc`: follows the groups of the identity provider, and is replaced when the person signs in there.',
  }),
  created_at: described(Timestamp, 'When it was granted.'),
})
export type Grant = Static<typeof grantSchema>

export const memberSchema = namedObject('Member', {
  user_id: idOf('user'),
  user: described(ref(userSchema), 'The user.'),
  grants: Type.Array(ref(grantSchema), {
    description: 'Each applies to its environment, otherwise its project, otherwise the whole organization.',
  }),
  has_joined: Type.Boolean({
    deprecated: true,
    description: 'Always true: people who have not joined yet are in the list of invitations.',
  }),
  invitation_expires_at: TextOrNull({ deprecated: true, description: 'Always null.' }),
  invitation_url: TextOrNull({ deprecated: true, description: 'Always null.' }),
})
export type Member = Static<typeof memberSchema>

export const grantFields = {
  role: Type.Optional(
    Word(BUILT_IN_ROLES, { description: 'A built-in role; alternatively, send `role_id`.' }),
  ),
  role_id: Type.Optional(described(Id, 'A custom role of the organization; alternatively, send `role`.')),
  project_id: Type.Optional(
    described(IdOrNull, 'Limits it to this project. Absent or null, and without `environment_id`: no limit.'),
  ),
  environment_id: Type.Optional(
    described(IdOrNull, 'Limits it to this environment. Absent or null: no such limit.'),
  ),
}
const grantInput = Exactly(grantFields)
export type GrantInput = Static<typeof grantInput>

export const memberChange = Exactly({
  grants: Type.Array(grantInput, {
    minItems: 1,
    maxItems: 100,
    description: 'All grants of the member in the organization; replaces those that they have.',
  }),
})
export type MemberChange = Static<typeof memberChange>

export const roleBody = Exactly({
  name: Name(60, 'The name of the role, unique in the organization.'),
  permissions: Type.Array(Word(PERMISSIONS as readonly Permission[]), {
    uniqueItems: true,
    maxItems: PERMISSIONS.length,
    description: 'What the role allows. You need each permission yourself.',
  }),
})
export type RoleBody = Static<typeof roleBody>

export const roleChange = Type.Partial(roleBody, {
  additionalProperties: false,
})
export type RoleChange = Static<typeof roleChange>

export const memberSchemas = [roleSchema, grantSchema, memberSchema]
