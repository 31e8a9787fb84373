import { type Static, Type } from 'typebox'
import { userSchema } from '#access/accounts/user-schema.ts'
import { Exactly, Id, Name, namedObject, ref, TextOrNull, Timestamp, Word } from '#platform/http/schemas.ts'
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
  id: Id,
  organization_id: Id,
  email: Type.String({ description: 'Only the holder of this address should get the link.' }),
  name: TextOrNull({ description: 'Suggested to a person who has no account yet.' }),
  grants: Type.Array(ref(offeredGrantSchema), {
    description:
      'What accepting it grants, each in its environment, otherwise project, otherwise organization.',
  }),
  created_by_user: ref(userSchema),
  created_at: Timestamp,
  expires_at: Timestamp,
  url: TextOrNull({
    description: 'The link to pass on. It works once; only in the response that created it.',
  }),
})
export type Invitation = Static<typeof invitationSchema>

export const invitationBody = Exactly(
  {
    email: Type.String({ format: 'email', maxLength: 255 }),
    name: Type.Optional(Name()),
    ...grantFields,
  },
  { examples: [{ email: 'ada@example.com', name: 'Ada', role: 'developer', project_id: 1 }] },
)
export type InvitationBody = Static<typeof invitationBody>

const token = Type.String({
  minLength: 1,
  maxLength: 512,
  description: 'The part of the link after `#`.',
})

export const readInvitationBody = Exactly({ token }, { examples: [{ token: 'gty_in_…' }] })

export const shownInvitationSchema = namedObject('ShownInvitation', {
  organization_name: Type.String(),
  email: Type.String(),
  name: TextOrNull(),
  grants: Type.Array(
    Exactly({ role_name: Type.String(), project_name: TextOrNull(), environment_name: TextOrNull() }),
  ),
  account: Word(['new', 'existing'] as const, {
    description: '`existing`: the address has an account, whose holder accepts while signed in.',
  }),
  expires_at: Timestamp,
})
export type ShownInvitation = Static<typeof shownInvitationSchema>

export const acceptInvitationBody = Exactly(
  {
    token,
    name: Type.Optional(Name()),
    password: Type.Optional(
      Type.String({ minLength: 8, maxLength: 255, description: 'Required for a new account.' }),
    ),
  },
  { examples: [{ token: 'gty_in_…', name: 'Ada', password: 'correct horse battery staple' }] },
)
export type AcceptInvitationBody = Static<typeof acceptInvitationBody>

export const invitationSchemas = [offeredGrantSchema, invitationSchema, shownInvitationSchema]
