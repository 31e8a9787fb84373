import { can, type Grant, type Permission } from '#access/authorization/permissions.ts'
import type { Database } from '#platform/database/connect.ts'

/**
 * The scope of each environment, by which a user's grants become a set of environments. Includes removed ones,
 * because their runs stay visible.
 */
export type EnvironmentScope = { organization_id: number; project_id: number; environment_id: number }

export function loadEnvironmentScopes(db: Database): Promise<EnvironmentScope[]> {
  return db
    .selectFrom('environments')
    .innerJoin('projects', 'projects.id', 'environments.project_id')
    .select(['projects.organization_id', 'environments.project_id', 'environments.id as environment_id'])
    .orderBy('environments.id')
    .execute()
}

/** The environments in which a user has a permission. */
export function environmentsWhere(
  user: { grants: readonly Grant[] },
  permission: Permission,
  scopes: readonly EnvironmentScope[],
): EnvironmentScope[] {
  return scopes.filter((scope) => can(user, permission, scope))
}
