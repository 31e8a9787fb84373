import { type Grant, PERMISSIONS, type Permission } from '#access/authorization/permissions.ts'
import * as t from '#platform/http/schemas.ts'

export const ownPermissionsSchema = t.namedObject('OwnPermissions', {
  organization_id: t.idOf('organization'),
  project_id: t.idOrNullOf('project that they are limited to', 'null: not limited to one'),
  environment_id: t.idOrNullOf('environment that they are limited to', 'null: not limited to one'),
  permissions: t.List(
    t.Word(PERMISSIONS as readonly Permission[]),
    'What all your roles in this scope allow together, there and in everything below.',
  ),
})
export type OwnPermissions = t.Static<typeof ownPermissionsSchema>

/** One entry for each scope that has grants, wider scopes first. */
export function permissionsByScope(grants: readonly Grant[]): OwnPermissions[] {
  const scopes = Map.groupBy(grants, (grant) => orderOf(grant).join())
  const merged = [...scopes.values()].map((held) => {
    const { organization_id, project_id, environment_id } = held[0]!
    const isHeld = (permission: Permission) => held.some((grant) => grant.permissions.has(permission))
    return { organization_id, project_id, environment_id, permissions: PERMISSIONS.filter(isHeld) }
  })
  return merged.sort((a, b) => {
    const other = orderOf(b)
    return orderOf(a).reduce((found, id, index) => found || id - other[index]!, 0)
  })
}

function orderOf({ organization_id, project_id, environment_id }: Omit<Grant, 'permissions'>) {
  return [organization_id, project_id ?? 0, environment_id ?? 0]
}
