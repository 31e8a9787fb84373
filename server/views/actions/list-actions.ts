import type { Caller } from '#access/authorization/caller.ts'
import { assembleItem, loadFullActions, loadSummaries } from '#model/actions/assemble.ts'
import { type ActionFilters, environmentsMatching } from '#model/actions/filters.ts'
import type { ActionRow } from '#model/actions/present.ts'
import { loadRelated } from '#model/actions/related.ts'
import type { ActionListItem } from '#model/actions/schemas.ts'
import { loadCredits, withCredits } from '#model/actions/used-credits.ts'
import { type Visibility, visibilityOf } from '#model/actions/visibility.ts'
import { findApprovable } from '#model/gates/approvable.ts'
import { environmentsWhere } from '#model/inventory/environment-scopes.ts'
import type { Tree } from '#model/inventory/tree.ts'
import { byId } from '#platform/database/any-of.ts'
import type { Database } from '#platform/database/connect.ts'
import type { Extent, Page } from '#platform/http/pagination.ts'
import { findPage, type LargeLists } from './find-page.ts'

type ListDeps = { db: Database; tree: Tree; baseUrl: string; largeLists: LargeLists }

export type ListRequest = { filters: ActionFilters; page: Page; hasPipelineId: boolean }

/** The actions in every environment where the caller may view actions. */
export async function listActions(
  deps: ListDeps,
  caller: Caller,
  { filters, page, hasPipelineId }: ListRequest,
): Promise<{ items: ActionListItem[]; extent: Extent }> {
  const visibility = await visibilityOf(deps.tree, caller)
  const environmentIds = environmentsMatching(filters, visibility.visible)
  const wanted = await withApprovable(deps.db, caller, visibility, filters)
  const { rows, extent } = await findPage(deps.db, environmentIds, wanted, page, deps.largeLists)
  const items = await presentRows(deps, visibility, rows)
  if (!hasPipelineId) return { items, extent }
  return { items: items.map((item, index) => ({ ...item, pipeline_id: rows[index]!.pipeline_id })), extent }
}

const MAX_APPROVABLE = 1_000

/** What `approvable` means for this caller. */
async function withApprovable(
  db: Database,
  caller: Caller,
  { visible }: Visibility,
  { approvable, ...filters }: ActionFilters,
): Promise<ActionFilters> {
  if (!approvable) return filters
  const approving = environmentsMatching(filters, environmentsWhere(caller, 'action:approve', visible))
  return { ...filters, ids: await findApprovable(db, caller, approving, MAX_APPROVABLE) }
}

/** Related data is loaded once for all rows: the number of statements does not grow with the page. */
async function presentRows(deps: ListDeps, visibility: Visibility, rows: ActionRow[]) {
  if (rows.length === 0) return []
  const { tree, scopes } = visibility
  const [environments, pipelines] = await Promise.all([
    tree.environments(rows.map((row) => row.environment_id)),
    tree.pipelines(rows.map((row) => row.pipeline_id)),
  ])
  const projectIds = rows.map((row) => environments.get(row.environment_id)!.project.id)
  const applications = rows.flatMap((row) => pipelines.get(row.pipeline_id)!.application ?? [])
  const [related, credits] = await Promise.all([
    loadRelated(deps.db, applications),
    loadCredits(deps.db, environmentsMatching({ project_id: projectIds }, scopes)),
  ])
  const loadFull = (ids: readonly number[]) => loadFullActions(deps.db, ids, byId(rows))
  const summaries = await loadSummaries({ ...deps, loadFull }, visibility, rows, related.values())
  return rows.map((row) => {
    const pipeline = pipelines.get(row.pipeline_id)!
    const environment = withCredits(environments.get(row.environment_id)!, credits, scopes)
    return assembleItem(row, pipeline, environment, related.get(pipeline.application?.id ?? 0), summaries)
  })
}
