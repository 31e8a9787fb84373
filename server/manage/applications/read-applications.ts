import { sql } from 'kysely'
import type { Caller } from '#access/authorization/caller.ts'
import { can, type Scope } from '#access/authorization/permissions.ts'
import { applicationsWithActions, type EmbedDeps } from '#model/actions/embedded.ts'
import { presentHealthCheck } from '#model/pipelines/health-check.ts'
import type { Database } from '#platform/database/connect.ts'
import { findById, rowVersion } from '#platform/database/rows.ts'
import type { Page } from '#platform/http/pagination.ts'
import { readPage } from '#platform/http/read-page.ts'
import type { ApplicationView } from './schemas.ts'

export type ApplicationRow = NonNullable<Awaited<ReturnType<typeof findApplication>>>

/** All but removed ones; `server_ids` are the servers linked to each. */
function selectApplications(db: Database) {
  return db
    .selectFrom('applications')
    .selectAll()
    .select((eb) => [
      sql<number[]>`array(select server_id from application_servers
        where application_id = ${eb.ref('applications.id')} order by 1)`.as('server_ids'),
      rowVersion('applications'),
    ])
    .where('applications.deleted_at', 'is', null)
}

export function findApplication(db: Database, id: number, options?: { lock: boolean }) {
  return findById(selectApplications(db), 'applications', id, options)
}

/** The applications of an environment, newest first. */
export function listApplications(db: Database, environmentId: number, name: string | undefined, page: Page) {
  const query = selectApplications(db).where('applications.environment_id', '=', environmentId)
  return readPage(query, 'applications', page, name)
}

/** Applications of one environment, with the actions and servers that the caller may see. */
export async function presentApplications(
  deps: EmbedDeps,
  caller: Caller,
  scope: Scope,
  rows: readonly ApplicationRow[],
): Promise<ApplicationView[]> {
  if (rows.length === 0) return []
  const ids = rows.map(({ id }) => id)
  const applications = await applicationsWithActions(deps, caller, rows[0]!.environment_id, ids)
  const seesServers = can(caller, 'server:view', scope)
  return rows.map(({ id, folder, shared_paths, submodules, health_check, server_ids }) => ({
    ...applications.get(id)!,
    folder,
    shared_paths,
    submodules,
    health_check: presentHealthCheck(health_check),
    linked_resources: (seesServers ? server_ids : []).map((resource_id) => ({
      resource_type: 'server' as const,
      resource_id,
    })),
  }))
}
