// The members room: who belongs to an organization, with which roles in which parts of it, and the custom roles of an
// organization.
import { linkToken, userSchema } from '#access/accounts/user-schema.ts'
import { BUILT_IN_ROLES, PERMISSIONS, type Permission } from '#access/authorization/permissions.ts'
import * as t from '#platform/http/schemas.ts'

export const roleSchema = t.namedObject('Role', {
  id: t.idOf('role'),
  organization_id: t.idOf('organization'),
  name: t.Text('The name of the role.'),
  permissions: t.List(t.Text(), 'What the role allows, such as `pipeline:run`.'),
  ...t.timestamps,
})
export type Role = t.Static<typeof roleSchema>

export const grantSchema = t.namedObject('Grant', {
  id: t.idOf('grant'),
  role: t.Unsafe<(typeof BUILT_IN_ROLES)[number] | null>({
    type: ['string', 'null'],
    enum: [...BUILT_IN_ROLES, null],
    description: 'A built-in role; null for a custom role.',
  }),
  role_id: t.idOrNullOf('custom role', 'null for a built-in role'),
  role_name: t.Text('The name of the role, for display.'),
  project_id: t.idOrNullOf('project that it is limited to', 'null: not limited to one'),
  environment_id: t.idOrNullOf('environment that it is limited to', 'null: not limited to one'),
  source: t.Word(
    ['manual', 'oidc'],
    '`oidc`: follows the groups of the identity provider, and is replaced when the person signs in there.',
  ),
  created_at: t.Time('When it was granted.'),
})
export type Grant = t.Static<typeof grantSchema>

export const memberSchema = t.namedObject('Member', {
  user_id: t.idOf('user'),
  user: t.described(t.ref(userSchema), 'The user.'),
  grants: t.List(
    t.ref(grantSchema),
    'Each applies to its environment, otherwise its project, otherwise the whole organization.',
  ),
  has_joined: t.Flag({
    deprecated: true,
    description: 'Always true: people who have not joined yet are in the list of invitations.',
  }),
  invitation_expires_at: t.TextOrNull({ deprecated: true, description: 'Always null.' }),
  invitation_url: t.TextOrNull({ deprecated: true, description: 'Always null.' }),
})
export type Member = t.Static<typeof memberSchema>

export const grantFields = {
  ...t.optionalFields({
    role: t.Word(BUILT_IN_ROLES, 'A built-in role; alternatively, send `role_id`.'),
    role_id: t.described(t.Id, 'A custom role of the organization; alternatively, send `role`.'),
    project_id: t.described(
      t.IdOrNull,
      'Limits it to this project. Absent or null, and without `environment_id`: the whole organization.',
    ),
    environment_id: t.described(t.IdOrNull, 'Limits it to this environment. Absent or null: no such limit.'),
  }),
}
const grantInput = t.Exactly(grantFields)
export type GrantInput = t.Static<typeof grantInput>

export const memberChange = t.Exactly({
  grants: t.List(grantInput, {
    minItems: 1,
    maxItems: 100,
    description: 'All grants of the member in the organization; replaces those that they have.',
  }),
})
export type MemberChange = t.Static<typeof memberChange>

export const roleBody = t.Exactly({
  name: t.Name(60, 'The name of the role, unique in the organization.'),
  permissions: t.List(t.Word(PERMISSIONS as readonly Permission[]), {
    uniqueItems: true,
    maxItems: PERMISSIONS.length,
    description: 'What the role allows. You need each permission yourself.',
  }),
})
export type RoleBody = t.Static<typeof roleBody>

export const roleChange = t.Partial(roleBody, { additionalProperties: false })
export type RoleChange = t.Static<typeof roleChange>

const { id, source, created_at, ...offered } = grantSchema.properties

export const offeredGrantSchema = t.namedObject('OfferedGrant', offered)

export const invitationSchema = t.namedObject('Invitation', {
  id: t.idOf('invitation'),
  organization_id: t.idOf('organization'),
  email: t.Text('The invited address. Only the holder of this address should get the link.'),
  name: t.TextOrNull('The name suggested to a person who has no account yet; null without one.'),
  grants: t.List(
    t.ref(offeredGrantSchema),
    'What accepting it grants, each in its environment, otherwise project, otherwise organization.',
  ),
  created_by_user: t.described(t.ref(userSchema), 'Who created the invitation.'),
  created_at: t.Time('When it was created.'),
  expires_at: t.Time('When its link stops working.'),
  url: t.TextOrNull(
    'The link to pass on, which works once. Only in the response that created it; null afterward.',
  ),
})
export type Invitation = t.Static<typeof invitationSchema>

export const invitationBody = t.Exactly({
  email: t.Text({ format: 'email', maxLength: 255, description: 'The address to invite.' }),
  name: t.Optional(t.Name(255, 'A name to suggest to a person who has no account yet.')),
  ...grantFields,
})
export type InvitationBody = t.Static<typeof invitationBody>

export const readInvitationBody = t.Exactly({ token: linkToken })

export const shownInvitationSchema = t.namedObject('ShownInvitation', {
  organization_name: t.Text('The name of the organization to join.'),
  email: t.Text('The invited address.'),
  name: t.TextOrNull('The suggested name; null without one.'),
  grants: t.List(
    t.Exactly({
      role_name: t.Text('The name of the role.'),
      project_name: t.TextOrNull('The project that it is limited to; null: not limited to one.'),
      environment_name: t.TextOrNull('The environment that it is limited to; null: not limited to one.'),
    }),
    'What accepting it grants.',
  ),
  account: t.Word(
    ['new', 'existing'] as const,
    '`existing`: the address has an account, whose holder accepts while signed in.',
  ),
  expires_at: t.Time('When the link stops working.'),
})
export type ShownInvitation = t.Static<typeof shownInvitationSchema>

export const acceptInvitationBody = t.Exactly({
  token: linkToken,
  name: t.Optional(t.Name(255, 'The name of a new account. Default: the suggested one.')),
  password: t.Optional(
    t.Text({
      minLength: 8,
      maxLength: 255,
      description: 'The password of a new account, which requires one.',
    }),
  ),
})
export type AcceptInvitationBody = t.Static<typeof acceptInvitationBody>

export const memberSchemas = [
  roleSchema,
  grantSchema,
  memberSchema,
  offeredGrantSchema,
  invitationSchema,
  shownInvitationSchema,
]
