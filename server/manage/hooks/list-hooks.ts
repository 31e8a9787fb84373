import { type HookRow, selectHooks } from '#model/hooks/present-hook.ts'
import type { Database } from '#platform/database/connect.ts'
import type { HookType } from '#platform/database/tables.ts'
import type { Extent, Page } from '#platform/http/pagination.ts'

/** The hooks of a pipeline, newest first. */
export async function listHooks(
  db: Database,
  pipelineId: number,
  filters: { type?: HookType; active?: boolean },
  page: Page,
): Promise<{ rows: HookRow[]; extent: Extent }> {
  let query = selectHooks(db).where('hooks.pipeline_id', '=', pipelineId)
  if (filters.type !== undefined) query = query.where('hooks.type', '=', filters.type)
  if (filters.active !== undefined) query = query.where('hooks.active', '=', filters.active)
  const rows = await query
    .select(({ fn }) => fn.countAll<number>().over().as('total'))
    .orderBy('hooks.created_at', 'desc')
    .orderBy('hooks.id')
    .limit(page.limit)
    .offset(page.offset)
    .execute()
  // A page past the end has no row to carry the total.
  const total = rows[0]?.total ?? (page.offset === 0 ? 0 : (await query.execute()).length)
  return { rows, extent: { total, hasMore: page.offset + rows.length < total && rows.length > 0 } }
}
