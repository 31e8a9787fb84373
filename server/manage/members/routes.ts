import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { TokenLifetimes } from '#access/accounts/sessions.ts'
import { presentSignedIn, signedInSchema } from '#access/accounts/signed-in.ts'
import { clientOf } from '#access/accounts/start-session.ts'
import { permissions, publicly } from '#access/authorization/enforce.ts'
import { type ResourceDeps, resourceRoutes } from '#access/resource-routes.ts'
import { unwrap } from '#platform/http/problems.ts'
import { errorResponses, ref } from '#platform/http/schemas.ts'
import { acceptInvitation } from './invitations.ts'
import { addMember, changeMember, inviteAgain, removeMember } from './manage-members.ts'
import { changeRole, createRole, findRole, listRoles, type RoleRow, removeRole } from './manage-roles.ts'
import { findMember, listMembers, type MemberRow } from './read-members.ts'
import {
  invitationBody,
  memberBody,
  memberChange,
  memberSchema,
  roleBody,
  roleChange,
  roleSchema,
} from './schemas.ts'

export const memberRoutes: FastifyPluginAsyncTypebox<ResourceDeps & { lifetimes: TokenLifetimes }> = async (
  app,
  deps,
) => {
  const { db, lifetimes, baseUrl } = deps
  const members = resourceRoutes(app, deps, {
    tag: 'Members',
    name: 'member',
    record: memberSchema,
    present: (_, rows: readonly MemberRow[], { link }: { link?: string } = {}) =>
      rows.map(({ row_version, ...member }) => ({
        ...member,
        invitation_url: link === undefined ? null : `${baseUrl()}/app/invitation/${link}`,
      })),
  })

  members.list('/organizations/:id/members', {
    access: permissions('organization', 'id', 'member:view'),
    description: 'Everybody with a role in it or in a part of it; the newest first.',
    find: ({ params }, name, page) => listMembers(db, params.id, name, page),
  })

  members.create('/organizations/:id/members', {
    access: permissions('organization', 'id', 'member:add'),
    operationId: 'addMember',
    summary: 'Add a member',
    description:
      'Grants a role on the organization, or on one of its projects or environments. A person with an account only gets the role. Otherwise an account is created, and `invitation_url` is a link to set a password: it works once, for seven days. You can only grant permissions that you have yourself.',
    body: memberBody,
    errors: [409],
    run: (trx, call) => addMember(trx, call, call.params.id, call.body),
  })

  members.read('/organizations/:id/members/:user_id', {
    access: permissions('organization', 'id', 'member:view'),
    description: 'Includes everything that they have been granted in the organization.',
    find: ({ params }) => findMember(db, params.id, params.user_id),
  })

  members.change('/organizations/:id/members/:user_id', {
    access: permissions('organization', 'id', 'member:edit'),
    description:
      '`grants` replaces all grants. You need the permissions that you revoke as well as those that you grant, and one owner must remain.',
    body: memberChange,
    errors: [409],
    run: (trx, call) => changeMember(trx, call, call.params.id, call.params.user_id, call.body, call.ifMatch),
  })

  members.remove('/organizations/:id/members/:user_id', {
    access: permissions('organization', 'id', 'member:remove'),
    description:
      'Revokes all their grants in the organization. One owner must remain. An account that was never used is deleted.',
    errors: [409],
    run: (trx, call) => removeMember(trx, call, call.params.id, call.params.user_id, call.ifMatch),
  })

  members.command(
    '/organizations/:id/members/:user_id/invitation',
    {
      access: permissions('organization', 'id', 'member:add'),
      operationId: 'inviteAgain',
      summary: 'Invite a member again',
      description: 'Creates a new link for a member who has not joined yet. Earlier links stop working.',
      errors: [409],
      run: (trx, call) => inviteAgain(trx, call, call.params.id, call.params.user_id),
    },
    201,
  )

  const roles = resourceRoutes(app, deps, {
    tag: 'Roles',
    name: 'role',
    record: roleSchema,
    present: (_, rows: readonly RoleRow[]) => rows.map(({ row_version, ...role }) => role),
  })

  roles.list('/organizations/:id/roles', {
    access: permissions('organization', 'id', 'member:view'),
    description: 'Custom roles, newest first; without the built-in ones (owner, admin, developer, viewer).',
    find: ({ params }, name, page) => listRoles(db, params.id, name, page),
  })

  roles.create('/organizations/:id/roles', {
    access: permissions('organization', 'id', 'member:add'),
    description: 'You need every one of its permissions on the organization yourself.',
    body: roleBody,
    run: (trx, call) => createRole(trx, call, call.params.id, call.body),
  })

  roles.read('/roles/:id', {
    access: permissions('role', 'id', 'member:view'),
    description: 'A custom role of an organization.',
    find: ({ params }) => findRole(db, params.id),
  })

  roles.change('/roles/:id', {
    access: permissions('role', 'id', 'member:edit'),
    description: 'Applies immediately to everyone who has the role.',
    body: roleChange,
    run: (trx, call) => changeRole(trx, call, call.params.id, call.body, call.ifMatch),
  })

  roles.remove('/roles/:id', {
    access: permissions('role', 'id', 'member:remove'),
    description: 'Returns 409 while a member has it.',
    errors: [409],
    run: (trx, call) => removeRole(trx, call, call.params.id, call.ifMatch),
  })

  app.post(
    '/users/accept-invitation',
    {
      config: { access: publicly },
      schema: {
        tags: ['Accounts'],
        operationId: 'acceptInvitation',
        summary: 'Accept an invitation',
        description: 'Sets the password and signs in. Works once, within seven days of the invitation.',
        security: [],
        body: invitationBody,
        response: { 200: ref(signedInSchema), ...errorResponses(400, 422) },
      },
    },
    async (request, reply) => {
      const client = clientOf(request, baseUrl())
      const { session } = unwrap(await acceptInvitation(db, request.body, lifetimes, client))
      return presentSignedIn(reply, { db, lifetimes, baseUrl }, session.userId, session)
    },
  )
}
