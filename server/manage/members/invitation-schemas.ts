import { userSchema } from '#access/accounts/user-schema.ts'
import * as t from '#platform/http/schemas.ts'
import { grantFields, grantSchema, memberSchema, roleSchema } from './schemas.ts'

const { role, role_id, role_name, project_id, environment_id } = grantSchema.properties

export const offeredGrantSchema = t.namedObject('OfferedGrant', {
  role,
  role_id,
  role_name,
  project_id,
  environment_id,
})
export type OfferedGrant = t.Static<typeof offeredGrantSchema>

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

const token = t.Text({
  minLength: 1,
  maxLength: 512,
  description: 'The part of the link after `#`.',
})

export const readInvitationBody = t.Exactly({ token })

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
  token,
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
