import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { TokenLifetimes } from '#access/accounts/sessions.ts'
import { permissions } from '#access/authorization/enforce.ts'
import { type ResourceDeps, resourceRoutes } from '#access/resource-routes.ts'
import { invitationRoutes } from './invitation-routes.ts'
import { changeMember, removeMember } from './manage-members.ts'
import { changeRole, createRole, findRole, listRoles, type RoleRow, removeRole } from './manage-roles.ts'
import { findMember, listMembers, type MemberRow } from './read-members.ts'
import { memberChange, memberSchema, roleBody, roleChange, roleSchema } from './schemas.ts'

type MemberRoutes = ResourceDeps & { lifetimes: TokenLifetimes }

export const memberRoutes: FastifyPluginAsyncTypebox<MemberRoutes> = async (app, deps) => {
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
    access: permissions('organization', 'id', 'member:view'),
    description:
      'All users with a role in it or in a part of it; the newest first. New members are invited: see POST /organizations/{id}/invitations.',
    find: ({ params }, name, page) => listMembers(db, params.id, name, page),
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
    description: 'Revokes all their grants in the organization. One owner must remain.',
    errors: [409],
    run: (trx, call) => removeMember(trx, call, call.params.id, call.params.user_id, call.ifMatch),
  })

  const roles = resourceRoutes(app, deps, {
    tag: 'Roles',
    name: 'role',
    record: roleSchema,
    present: (_, rows: readonly RoleRow[]) => rows.map(({ row_version, ...role }) => role),
  })

  roles.list('/organizations/:id/roles', {
    compress: true,
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
    description: 'Returns 409 while a member has it, or an invitation offers it.',
    errors: [409],
    run: (trx, call) => removeRole(trx, call, call.params.id, call.ifMatch),
  })
}
