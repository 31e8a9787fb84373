// What the person may do in a scope, so that a page does not offer what the API would reject. The API decides: requests
// that bypass the pages are checked there.
import type { Data } from '#client/index.ts'
import { queryKeys, useGet } from '#web/base/api/queries.ts'

type Grants = Data<'get', '/users/me/permissions'>

/** Where an object is. An organization has neither project nor environment. */
export type PermissionScope = {
  organization: number
  project?: number | null | undefined
  environment?: number | null | undefined
}

type Identified = { id: number }
type InProject = Identified & { project: Identified & { organization: Identified } }

/** Pure. Of what is in an environment. */
export function environmentScope({ id, project }: InProject) {
  return { organization: project.organization.id, project: project.id, environment: id }
}

type OfRun = Record<'organization' | 'project' | 'environment', Identified>

/** Pure. Of a run, which names all three. */
export function runScope({ organization, project, environment }: OfRun) {
  return { organization: organization.id, project: project.id, environment: environment.id }
}

/** Pure. Each grant covers its own scope and everything below it. */
export function isGranted(grants: Grants, permission: string, scope: PermissionScope): boolean {
  return grants.some(
    (grant) =>
      grant.permissions.some((one) => one === permission) &&
      grant.organization_id === scope.organization &&
      (grant.project_id === null || grant.project_id === scope.project) &&
      (grant.environment_id === null || grant.environment_id === scope.environment),
  )
}

/** Nothing is allowed until it is known. */
export function usePermissions(): (permission: string, scope: PermissionScope) => boolean {
  const { data } = useGrants()
  return (permission, scope) => data !== undefined && isGranted(data, permission, scope)
}

/** A scope is undefined while it is loading. */
export function usePermission(
  permission: string,
  scope: PermissionScope | undefined,
): { allowed: boolean; reason: string } {
  const { data } = useGrants()
  // Not everybody who sees an object sees where it is.
  if (data && !isGrantedWithin(data, permission, {})) return { allowed: false, reason: reasonFor(permission) }
  if (!data || !scope) return { allowed: false, reason: 'Checking your permissions…' }
  return {
    allowed: isGranted(data, permission, scope),
    reason: reasonFor(permission),
  }
}

/** Somewhere in a scope, of which levels may be left open. For pages that list what is in several environments. */
export function useAnyPermission(
  permission: string,
  scope: Partial<PermissionScope>,
): { allowed: boolean; reason: string } {
  const { data } = useGrants()
  if (!data) return { allowed: false, reason: 'Checking your permissions…' }
  return { allowed: isGrantedWithin(data, permission, scope), reason: reasonFor(permission) }
}

/** Pure. A level that is not given, or that a grant does not name, matches all. */
export function isGrantedWithin(
  grants: Grants,
  permission: string,
  scope: Partial<PermissionScope>,
): boolean {
  const meets = (wanted: number | null | undefined, granted: number | null) =>
    wanted === undefined || wanted === null || granted === null || wanted === granted
  return grants.some(
    (grant) =>
      grant.permissions.some((one) => one === permission) &&
      meets(scope.organization, grant.organization_id) &&
      meets(scope.project, grant.project_id) &&
      meets(scope.environment, grant.environment_id),
  )
}

function reasonFor(permission: string): string {
  return `Your role does not include ${permission}. Ask an administrator of the organization for it.`
}

const FRESH_FOR_MS = 30_000

export function useGrants() {
  return useGet(queryKeys.permissions, '/users/me/permissions', { staleTime: FRESH_FOR_MS })
}
