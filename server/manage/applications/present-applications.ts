import type { Caller } from '#access/authorization/caller.ts'
import { can, type Scope } from '#access/authorization/permissions.ts'
import { assembleApplication, loadSummaries } from '#model/actions/assemble.ts'
import { loadRelatedTo, NOTHING_RELATED } from '#model/actions/related.ts'
import { visibilityOf } from '#model/actions/visibility.ts'
import { loadWhole } from '#model/actions/whole-actions.ts'
import { loadApplications } from '#model/inventory/load-resources.ts'
import type { Tree } from '#model/inventory/tree.ts'
import { byId } from '#platform/database/any-of.ts'
import type { Database } from '#platform/database/connect.ts'
import type { ApplicationRow } from './find-applications.ts'
import type { ApplicationView } from './schemas.ts'

export type ShowApplications = { db: Database; tree: Tree; baseUrl: () => string }

/**
 * Applications of one environment as actions show them, and what there is to manage. Of actions and servers
 * only what the caller may see.
 */
export async function presentApplications(
  { db, tree, baseUrl }: ShowApplications,
  caller: Caller,
  place: Scope,
  rows: readonly ApplicationRow[],
): Promise<ApplicationView[]> {
  if (rows.length === 0) return []
  const sight = await visibilityOf(tree, caller)
  const ids = rows.map(({ id }) => id)
  const environmentId = rows[0]!.environment_id
  const [loaded, environments] = await Promise.all([
    loadApplications(db, ids),
    sight.tree.environments([environmentId]),
  ])
  const applications = byId(loaded)
  const { organization } = environments.get(environmentId)!.project
  const related = await loadRelatedTo(db, loaded)
  const load = { loadWhole: loadWhole.bind(null, db), baseUrl: baseUrl() }
  const summaries = await loadSummaries(load, sight, [], related.values())
  const seesServers = can(caller, 'server:view', place)
  return rows.map((row) => ({
    ...assembleApplication(
      applications.get(row.id)!,
      related.get(row.id) ?? NOTHING_RELATED,
      summaries,
      organization,
    ),
    folder: row.folder,
    shared_paths: row.shared_paths,
    linked_resources: (seesServers ? row.server_ids : []).map((resource_id) => ({
      resource_type: 'server' as const,
      resource_id,
    })),
  }))
}
