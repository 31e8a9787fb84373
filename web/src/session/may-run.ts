import type { Grant, Role } from '../api-types.ts'

export type PlaceIds = { organizationId: number; projectId: number; environmentId: number }

const RUNNERS: readonly (string | null)[] = ['owner', 'admin', 'developer']

/** Pure; a role that is not built in counts by its permissions. */
export function mayRun(grants: Grant[], roles: Role[], { projectId, environmentId }: PlaceIds): boolean {
  return grants.some((grant) => {
    const custom = roles.find((role) => role.id === grant.role_id)
    const runs = RUNNERS.includes(grant.role) || custom?.permissions.includes('pipeline:run') === true
    const reaches =
      (grant.project_id === null || grant.project_id === projectId) &&
      (grant.environment_id === null || grant.environment_id === environmentId)
    return runs && reaches
  })
}
