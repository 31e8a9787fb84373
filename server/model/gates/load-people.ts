import { sql } from 'kysely'
import { type BuiltInRole, ROLE_PERMISSIONS } from '#access/authorization/permissions.ts'
import type { Database } from '#platform/database/connect.ts'
import type { Person } from './approval-terms.ts'

type Row = {
  id: number
  email: string
  name: string
  isActive: boolean
  grants: { builtIn: BuiltInRole | null; roleId: number | null; permissions: string[] | null }[]
}

/** People with roles in the environment (for a new one: in its project) or above it: all, or those of them. */
export async function loadPeople(
  db: Database,
  at: { environmentId: number } | { environmentId?: undefined; projectId: number },
  userIds: readonly number[] | null = null,
): Promise<(Person & { name: string })[]> {
  const environmentId = 'environmentId' in at ? at.environmentId : null
  const projectId =
    'projectId' in at
      ? at.projectId
      : sql`(select project_id from environments where id = ${at.environmentId}::bigint)`
  const { rows } = await sql<Row>`
    select u.id, u.email, u.name, u.active as "isActive", json_agg(json_build_object('builtIn', g.built_in_role,
      'roleId', g.role_id, 'permissions', r.permissions)) as grants
    from projects p join grants g on g.organization_id = p.organization_id
      and (g.project_id is null or g.project_id = p.id) and (g.environment_id is null or g.environment_id = ${environmentId}::bigint)
    join users u on u.id = g.user_id
    left join roles r on r.id = g.role_id
    where p.id = ${projectId} and (${userIds}::bigint[] is null or u.id = any(${userIds}::bigint[]))
    group by u.id order by u.id`.execute(db)
  return rows.map(({ grants, ...person }) => ({
    ...person,
    mayApprove: grants.some(({ builtIn, permissions }) =>
      builtIn ? ROLE_PERMISSIONS[builtIn].has('action:approve') : permissions?.includes('action:approve'),
    ),
    builtInRoles: grants.flatMap(({ builtIn }) => builtIn ?? []),
    roleIds: grants.flatMap(({ roleId }) => roleId ?? []),
  }))
}
