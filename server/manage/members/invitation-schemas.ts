import { type Static, Type } from 'typebox'
import { userSchema } from '#access/accounts/user-schema.ts'
import {
  described,
  Exactly,
  idOf,
  Name,
  namedObject,
  ref,
  TextOrNull,
  Timestamp,
  Word,
} from '#platform/http/schemas.ts'
import { grantFields, grantSchema } from './schemas.ts'

const { role, role_id, role_name, project_id, environment_id } = grantSchema.properties

export const offeredGrantSchema = namedObject('OfferedGrant', {
  role,
  role_id,
  role_name,
  project_id,
  environment_id,
})
export type OfferedGrant = Static<typeof offeredGrantSchema>

export const invitationSchema = namedObject('Invitation', {
  id: idOf('invitation'),
  organization_id: idOf('organization'),
  email: Type.String({
    description: 'The invited address. Only the holder of this address should get the link.',
  }),
  name: TextOrNull({
    description: 'The name suggested to a person who has no account yet; null without one.',
  }),
  grants: Type.Array(ref(offeredGrantSchema), {
    description:
      'What accepting it grants, each in its environment, otherwise project, otherwise organization.',
  }),
  created_by_user: described(ref(userSchema), 'Who created the invitation.'),
  created_at: described(Timestamp, 'When it was created.'),
  expires_at: described(Timestamp, 'When its link stops working.'),
  url: TextOrNull({
    description:
      'The link to pass on, which works once. Only in the response that created it; null afterward.',
  }),
})
export type Invitation = Static<typeof invitationSchema>

export const invitationBody = Exactly({
  email: Type.String({ format: 'email', maxLength: 255, description: 'The address to invite.' }),
  name: Type.Optional(Name(255, 'A name to suggest to a person who has no account yet.')),
  ...grantFields,
})
export type InvitationBody = Static<typeof invitationBody>

const token = Type.String({
  minLength: 1,
  maxLength: 512,
  description: 'The part of the link after `#`.',
})

export const readInvitationBody = Exactly({ token })

export const shownInvitationSchema = namedObject('ShownInvitation', {
  organization_name: Type.String({ description: 'The name of the organization to join.' }),
  email: Type.String({ description: 'The invited address.' }),
  name: TextOrNull({ description: 'The suggested name; null without one.' }),
  grants: Type.Array(
    Exactly({
      role_name: Type.String({ description: 'The name of the role.' }),
      project_name: TextOrNull({
        description: 'The project that it is limited to; null: not limited to one.',
      }),
      environment_name: TextOrNull({
        description: 'The environment that it is limited to; null: not limited to one.',
      }),
    }),
    { description: 'What accepting it grants.' },
  ),
  account: Word(['new', 'existing'] as const, {
    description: '`existing`: the address has an account, whose holder accepts while signed in.',
  }),
  expires_at: described(Timestamp, 'When the link stops working.'),
})
export type ShownInvitation = Static<typeof shownInvitationSchema>

export const acceptInvitationBody = Exactly({
  token,
  name: Type.Optional(Name(255, 'The name of a new account. Default: the suggested one.')),
  password: Type.Optional(
    Type.String({
      minLength: 8,
      maxLength: 255,
      description: 'The password of a new account, which requires one.',
    }),
  ),
})
export type AcceptInvitationBody = Static<typeof acceptInvitationBody>

export const invitationSchemas = [offeredGrantSchema, invitationSchema, shownInvitationSchema]
