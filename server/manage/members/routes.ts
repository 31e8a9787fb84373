import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { AccountDeps } from '#access/accounts/sessions.ts'
import { resourceRoutes } from '#access/resource-routes.ts'
import { invitationRoutes } from './invitation-routes.ts'
import { changeMember, removeMember } from './manage-members.ts'
import { changeRole, createRole, findRole, listRoles, type RoleRow, removeRole } from './manage-roles.ts'
import { findMember, listMembers, type MemberRow } from './read-members.ts'
import { memberChange, memberSchema, roleBody, roleChange, roleSchema } from './schemas.ts'

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
