// The members room: who belongs to an organization, with which roles in which parts of it, and the custom roles of an
// organization.
import { type Static, Type } from 'typebox'
import { userSchema } from '#access/accounts/user-schema.ts'
import { BUILT_IN_ROLES, PERMISSIONS, type Permission } from '#access/authorization/permissions.ts'
import {
  Exactly,
  Id,
  IdOrNull,
  Name,
  namedObject,
  ref,
  TextOrNull,
  Timestamp,
  timestamps,
  Word,
} from '#platform/http/schemas.ts'

export const roleSchema = namedObject('Role', {
  id: Id,
  organization_id: Id,
  name: Type.String(),
  permissions: Type.Array(Type.String()),
  ...timestamps,
})
export type Role = Static<typeof roleSchema>

export const grantSchema = namedObject('Grant', {
  id: Id,
  role: Type.Unsafe<(typeof BUILT_IN_ROLES)[number] | null>({
    type: ['string', 'null'],
    enum: [...BUILT_IN_ROLES, null],
    description: 'A built-in role; null for a custom role.',
  }),
  role_id: IdOrNull,
  role_name: Type.String(),
  project_id: IdOrNull,
  environment_id: IdOrNull,
  source: Word(['manual', 'oidc'], {
    description:
      '`oidc`: follows the groups of the identity provider, and is replaced when the person signs in there.',
  }),
  created_at: Timestamp,
})
export type Grant = Static<typeof grantSchema>

export const memberSchema = namedObject('Member', {
  user_id: Id,
  user: ref(userSchema),
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
  role_id: Type.Optional(Id),
  project_id: Type.Optional(IdOrNull),
  environment_id: Type.Optional(IdOrNull),
}
const grantInput = Exactly(grantFields)
export type GrantInput = Static<typeof grantInput>

export const memberChange = Exactly(
  { grants: Type.Array(grantInput, { minItems: 1, maxItems: 100 }) },
  { examples: [{ grants: [{ role: 'viewer' }, { role: 'developer', environment_id: 3 }] }] },
)
export type MemberChange = Static<typeof memberChange>

export const roleBody = Exactly(
  {
    name: Name(60),
    permissions: Type.Array(Word(PERMISSIONS as readonly Permission[]), {
      uniqueItems: true,
      maxItems: PERMISSIONS.length,
      description: 'What the role allows. You need each permission yourself.',
    }),
  },
  { examples: [{ name: 'Release manager', permissions: ['pipeline:view', 'pipeline:run', 'action:view'] }] },
)
export type RoleBody = Static<typeof roleBody>

export const roleChange = Type.Partial(roleBody, {
  additionalProperties: false,
  examples: [{ permissions: ['pipeline:view'] }],
})
export type RoleChange = Static<typeof roleChange>

export const memberSchemas = [roleSchema, grantSchema, memberSchema]
