import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { operation } from '#access/accounts/session-routes.ts'
import type { AccountDeps } from '#access/accounts/sessions.ts'
import { clientOf, presentSignedIn, signedInSchema } from '#access/accounts/start-session.ts'
import { publicly, publiclyOrSignedIn } from '#access/authorization/enforce.ts'
import { resourceRoutes } from '#access/resource-routes.ts'
import { ApiError } from '#platform/http/errors.ts'
import { unwrap } from '#platform/http/problems.ts'
import * as t from '#platform/http/schemas.ts'
import { acceptInvitation, readInvitation } from './claim-invitation.ts'
import {
  createInvitation,
  type InvitationRow,
  listInvitations,
  removeInvitation,
} from './manage-invitations.ts'
import { changeMember, findMember, listMembers, type MemberRow, removeMember } from './manage-members.ts'
import { changeRole, createRole, findRole, listRoles, type RoleRow, removeRole } from './manage-roles.ts'
import {
  acceptInvitationBody,
  invitationBody,
  invitationSchema,
  memberChange,
  memberSchema,
  readInvitationBody,
  roleBody,
  roleChange,
  roleSchema,
  shownInvitationSchema,
} from './schemas.ts'

export const memberRoutes: FastifyPluginAsyncTypebox<AccountDeps> = async (app, deps) => {
  const { db } = deps
  await app.register(invitationRoutes, deps)

  const members = resourceRoutes(app, deps, {
    tag: 'Members',
    name: 'member',
    record: memberSchema,
    present: (_, rows: readonly MemberRow[]) => rows.map(({ row_version, ...member }) => member),
  })

  members.list('/organizations/:id/members', {
    compress: true,
    description:
      'All users with a role in it or in a part of it; the newest first. New members are invited: see POST /organizations/{id}/invitations.',
    find: ({ id }, name, page) => listMembers(db, id, name, page),
  })

  members.read('/organizations/:id/members/:user_id', {
    description: 'Includes everything that they have been granted in the organization.',
    find: ({ parentId, id }) => findMember(db, parentId, id),
  })

  members.change('/organizations/:id/members/:user_id', {
    description:
      '`grants` replaces all grants. You need the permissions that you revoke as well as those that you grant, and one owner must remain.',
    body: memberChange,
    errors: [409],
    run: changeMember,
  })

  members.remove('/organizations/:id/members/:user_id', {
    description: 'Revokes all their grants in the organization. One owner must remain.',
    errors: [409],
    run: removeMember,
  })

  const roles = resourceRoutes(app, deps, {
    tag: 'Roles',
    name: 'role',
    permission: 'member',
    record: roleSchema,
    present: (_, rows: readonly RoleRow[]) => rows.map(({ row_version, ...role }) => role),
  })

  roles.list('/organizations/:id/roles', {
    compress: true,
    description: 'Custom roles, newest first; without the built-in ones (owner, admin, developer, viewer).',
    find: ({ id }, name, page) => listRoles(db, id, name, page),
  })

  roles.create('/organizations/:id/roles', {
    description: 'You need every one of its permissions on the organization yourself.',
    body: roleBody,
    run: createRole,
  })

  roles.read('/roles/:id', {
    description: 'A custom role of an organization.',
    find: ({ id }) => findRole(db, id),
  })

  roles.change('/roles/:id', {
    description: 'Applies immediately to everyone who has the role.',
    body: roleChange,
    run: changeRole,
  })

  roles.remove('/roles/:id', {
    description: 'Returns 409 while a member has it, or an invitation offers it.',
    errors: [409],
    run: removeRole,
  })
}

export const invitationRoutes: FastifyPluginAsyncTypebox<AccountDeps> = async (app, deps) => {
  const { db, lifetimes, baseUrl } = deps
  const invitations = resourceRoutes(app, deps, {
    tag: 'Members',
    name: 'invitation',
    permission: 'member',
    record: invitationSchema,
    present: (_, rows: readonly InvitationRow[], { token }: { token?: string } = {}) =>
      rows.map(({ row_version, is_expired, ...invitation }) => ({
        ...invitation,
        // In the fragment, which browsers do not send: it is in no log of a server or proxy.
        url: token === undefined ? null : `${baseUrl()}/app/invitation#${token}`,
      })),
  })

  invitations.list('/organizations/:id/invitations', {
    description: 'Pending invitations, expired ones included; the newest first.',
    find: ({ id }, name, page) => listInvitations(db, id, name, page),
  })

  invitations.create('/organizations/:id/invitations', {
    description:
      'Offers a role on the organization, or on one of its projects or environments, to an address. Pass on `url`: it works once, for seven days, as long as you could still grant the role. A new user sets a password with it; the holder of an existing account accepts while signed in. You can only offer permissions that you have yourself. Replaces an earlier invitation of the same address, and returns 409 for a member.',
    body: invitationBody,
    errors: [409],
    run: createInvitation,
  })

  invitations.remove('/organizations/:id/invitations/:invitation_id', {
    description: 'Its link stops working.',
    run: removeInvitation,
  })

  app.post(
    '/users/read-invitation',
    operation(publicly, 'readInvitation', 'Read an invitation', {
      description: 'What the link of an invitation leads to. A link that does not work is 422 at `token`.',
      body: readInvitationBody,
      response: { 200: t.ref(shownInvitationSchema), ...t.errorResponses(400, 422) },
    }),
    async (request) => unwrap(await readInvitation(db, request.body.token)).invitation,
  )

  app.post(
    '/users/accept-invitation',
    operation(publiclyOrSignedIn, 'acceptInvitation', 'Accept an invitation', {
      description:
        'Works once. An address without an account gets one, with this password, and is signed in. If the address has an account, you must be signed in to it: otherwise the answer is 401, or 403 if you are signed in with a different account, and the link stays usable. A link that does not work is 422 at `token`.',
      body: acceptInvitationBody,
      response: { 200: t.ref(signedInSchema), ...t.errorResponses(400, 401, 403, 422) },
    }),
    async (request, reply) => {
      const client = clientOf(request, baseUrl())
      const outcome = await acceptInvitation(db, request.body, request.caller, client, lifetimes)
      if (outcome.kind === 'sign-in-required')
        throw new ApiError('unauthenticated', `Sign in as ${outcome.email} to accept this invitation.`)
      const { userId, session } = unwrap(outcome)
      return presentSignedIn(reply, deps, userId, session)
    },
  )
}
