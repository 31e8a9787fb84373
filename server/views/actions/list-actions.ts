import type { Caller } from '#access/authorization/caller.ts'
import { assembleItem, loadSummaries, type ReadActions } from '#model/actions/assemble.ts'
import type { ActionFilters } from '#model/actions/filters.ts'
import type { ActionRow } from '#model/actions/present.ts'
import { loadRelated } from '#model/actions/related.ts'
import type { ActionListItem } from '#model/actions/schemas.ts'
import { loadCredits, withCredits } from '#model/actions/used-credits.ts'
import { type Visibility, visibilityOf } from '#model/actions/visibility.ts'
import { loadWhole } from '#model/actions/whole-actions.ts'
import type { Extent, Page } from '#platform/http/pagination.ts'
import { findPage, type LargeLists } from './find-page.ts'

/** The actions that belong to a user: those in every environment where they may view actions. */
export async function listActions(
  deps: ReadActions & { largeLists: LargeLists },
  caller: Caller,
  filters: ActionFilters,
  page: Page,
): Promise<{ items: ActionListItem[]; extent: Extent }> {
  const sight = await visibilityOf(deps.tree, caller)
  const wanted = sight.visible.filter(
    (place) =>
      (filters.organization_id?.includes(place.organization_id) ?? true) &&
      (filters.project_id?.includes(place.project_id) ?? true) &&
      (filters.environment_id?.includes(place.environment_id) ?? true),
  )
  const environmentIds = wanted.map((place) => place.environment_id)
  const { rows, extent } = await findPage(deps.db, environmentIds, filters, page, deps.largeLists)
  return { items: await presentRows(deps, sight, rows), extent }
}

/** What stands around the rows is loaded once for all of them: the number of statements does not grow with the page. */
async function presentRows(
  deps: ReadActions,
  sight: Visibility,
  rows: ActionRow[],
): Promise<ActionListItem[]> {
  if (rows.length === 0) return []
  const { tree, scopes: places } = sight
  const [environments, pipelines] = await Promise.all([
    tree.environments(rows.map((row) => row.environment_id)),
    tree.pipelines(rows.map((row) => row.pipeline_id)),
  ])
  const projectIds = new Set(rows.map((row) => environments.get(row.environment_id)!.project.id))
  const around = places
    .filter((place) => projectIds.has(place.project_id))
    .map((place) => place.environment_id)
  const [related, credits] = await Promise.all([
    loadRelated(
      deps.db,
      rows.map((row) => pipelines.get(row.pipeline_id)!),
    ),
    loadCredits(deps.db, around),
  ])
  const load = { baseUrl: deps.baseUrl, loadWhole: loadWhole.bind(null, deps.db) }
  const summaries = await loadSummaries(load, sight, rows, related.values())
  return rows.map((row) => {
    const pipeline = pipelines.get(row.pipeline_id)!
    const environment = withCredits(environments.get(row.environment_id)!, credits, places)
    return assembleItem(row, pipeline, environment, related.get(pipeline.application?.id ?? 0), summaries)
  })
}
