import { anyOf } from '#platform/database/any-of.ts'
import { isoFromPostgres } from '#platform/database/connect.ts'
import { maskPath } from '#platform/masking/masked.ts'
import { RESOURCE_TYPES, STATUSES } from '#platform/vocabulary.ts'
import { assembleItem, loadSummaries, type ReadActions } from './assemble.ts'
import type { FindAction } from './find-action.ts'
import { permalink, presentType } from './present.ts'
import type { Action, ActionRef, HookRequest } from './schemas.ts'
import { withCredits } from './used-credits.ts'
import type { Visibility } from './visibility.ts'
import type { LoadWhole } from './whole-actions.ts'

/** Undefined when there is no such action, or none that the caller may see. */
export async function readAction(
  deps: ReadActions & { findAction: FindAction; loadWhole: LoadWhole },
  sight: Visibility,
  id: number,
): Promise<Action | undefined> {
  const row = await deps.findAction(id)
  if (!row || !sight.sees(row.environment_id)) return undefined

  const { tree, scopes: places } = sight
  const [environments, pipelines, users] = await Promise.all([
    tree.environments([row.environment_id]),
    tree.pipelines([row.pipeline_id]),
    tree.users(row.triggered_by === null ? [] : [row.triggered_by]),
  ])
  const pipeline = pipelines.get(row.pipeline_id)!
  const related = { latest: row.latest, live: row.live, lastUse: row.last_use }
  const relativeIds = row.parent_id === null ? row.child_ids : [row.parent_id, ...row.child_ids]
  const [summaries, relatives] = await Promise.all([
    loadSummaries(deps, sight, [row], [related]),
    loadRelatives(deps, sight, relativeIds),
  ])
  const environment = withCredits(environments.get(row.environment_id)!, new Map(row.credits), places)
  return {
    ...assembleItem(row, pipeline, environment, related, summaries),
    pipeline_id: row.pipeline_id,
    retry_of: row.retry_of,
    parent: relatives.find((one) => one.id === row.parent_id) ?? null,
    children: relatives.filter((one) => one.id !== row.parent_id),
    triggered_by_user: users.get(row.triggered_by ?? 0) ?? null,
    hook_requests: {
      incoming: row.incoming && withIsoTimes(row.incoming),
      // Runs are seen by people who may see no hook at all.
      outgoing: row.outgoing && { ...withIsoTimes(row.outgoing), url: maskPath(row.outgoing.url) },
    },
  }
}

async function loadRelatives(
  { db, baseUrl }: ReadActions,
  { tree, sees }: Visibility,
  ids: readonly number[],
): Promise<ActionRef[]> {
  if (ids.length === 0) return []
  const rows = await db
    .selectFrom('actions')
    .select(['id', 'status', 'type', 'pipeline_id', 'environment_id'])
    .where(anyOf('actions.id', ids))
    .orderBy('id')
    .execute()
  const relatives = rows.filter((one) => sees(one.environment_id))
  const pipelines = await tree.pipelines(relatives.map((one) => one.pipeline_id))
  return relatives.map((one) => {
    const pipeline = pipelines.get(one.pipeline_id)!
    return {
      id: one.id,
      status: one.status,
      status_human_readable: STATUSES[one.status],
      ...presentType(one.type),
      resource_name: (pipeline.application?.data.name ?? pipeline.server?.name)!,
      resource_type: pipeline.resource_type,
      resource_type_human_readable: RESOURCE_TYPES[pipeline.resource_type],
      url_web_permalink: permalink(baseUrl, one.id),
    }
  })
}

function withIsoTimes(request: HookRequest): HookRequest {
  return {
    ...request,
    created_at: isoFromPostgres(request.created_at),
    updated_at: isoFromPostgres(request.updated_at),
  }
}
