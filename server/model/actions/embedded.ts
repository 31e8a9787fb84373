import { sql } from 'kysely'
import type { Caller } from '#access/authorization/caller.ts'
import { loadApplications } from '#model/inventory/load-resources.ts'
import type { Tree } from '#model/inventory/tree.ts'
import type { Database } from '#platform/database/connect.ts'
import { assembleApplication, loadSummaries } from './assemble.ts'
import { loadRelated, NOTHING_RELATED, newestUseOf } from './related.ts'
import type { Application } from './schemas.ts'
import type { ActionSummary } from './summary-schemas.ts'
import { visibilityOf } from './visibility.ts'

// The actions that credentials and applications embed, as far as the caller may see them.

export type EmbedDeps = { db: Database; tree: Tree; baseUrl: () => string }

/** By credential: the newest action that used it. */
export async function lastActionsOf(
  { db, tree, baseUrl }: EmbedDeps,
  caller: Caller,
  credentialIds: readonly number[],
): Promise<Map<number, ActionSummary>> {
  if (credentialIds.length === 0) return new Map()
  const { rows } = await sql<{ id: number; last_use: number | null }>`
    select wanted.id, ${newestUseOf(sql`wanted.id`)} as last_use
    from unnest(${credentialIds}::bigint[]) as wanted (id)`.execute(db)
  const related = rows.map(({ last_use }) => ({ ...NOTHING_RELATED, lastUse: last_use }))
  const summaries = await loadSummaries(
    { db, baseUrl: baseUrl() },
    await visibilityOf(tree, caller),
    [],
    related,
  )
  return new Map(
    rows.flatMap(({ id, last_use }) => {
      const summary = summaries.get(last_use ?? 0)
      return summary ? [[id, summary]] : []
    }),
  )
}

/** Applications of one environment as actions show them, with their last deployments, by id. */
export async function applicationsWithActions(
  { db, tree, baseUrl }: EmbedDeps,
  caller: Caller,
  environmentId: number,
  ids: readonly number[],
): Promise<Map<number, Application>> {
  const visibility = await visibilityOf(tree, caller)
  const [applications, environments] = await Promise.all([
    loadApplications(db, ids),
    visibility.tree.environments([environmentId]),
  ])
  const { organization } = environments.get(environmentId)!.project
  const related = await loadRelated(db, applications)
  const summaries = await loadSummaries({ db, baseUrl: baseUrl() }, visibility, [], related.values())
  return new Map(
    applications.map((application) => {
      const { id } = application
      return [id, assembleApplication(application, related.get(id), summaries, organization)]
    }),
  )
}
