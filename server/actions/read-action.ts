import { sql } from 'kysely'
import type { Caller } from '#access/caller.ts'
import { anyOf } from '#database/any-of.ts'
import type { Database } from '#database/connect.ts'
import { RESOURCE_TYPES, STATUSES } from '../vocabulary.ts'
import { assembleItem, loadSummaries, type ReadActions } from './assemble.ts'
import { type ActionRow, permalink, presentType } from './present.ts'
import { newestDeploymentOf, newestUseOf } from './related.ts'
import type { Action, ActionRef, HookRequest } from './schemas.ts'
import { type Sight, sightOf } from './sight.ts'
import { creditsAround, withCredits } from './used-credits.ts'

/** Undefined when there is no such action, or none that the caller may see. */
export async function readAction(deps: ReadActions, caller: Caller, id: number): Promise<Action | undefined> {
  const [sight, row] = await Promise.all([sightOf(deps.tree, caller), findAction(deps.db, id)])
  if (!row || !sight.sees(row.environment_id)) return undefined

  const { tree, places } = sight
  const [environments, pipelines, users] = await Promise.all([
    tree.environments([row.environment_id]),
    tree.pipelines([row.pipeline_id]),
    tree.users(row.triggered_by === null ? [] : [row.triggered_by]),
  ])
  const pipeline = pipelines.get(row.pipeline_id)!
  const related = {
    latest: row.latest,
    live: pipeline.application?.live_action_id ?? null,
    lastUse: row.last_use,
  }
  const [summaries, relatives, requests] = await Promise.all([
    loadSummaries(deps, sight, [row], [related]),
    loadRelatives(deps, sight, [...(row.parent_id === null ? [] : [row.parent_id]), ...row.child_ids]),
    loadHookRequests(
      deps.db,
      [row.hook_request_id, row.delivery_id].filter((one) => one !== null),
    ),
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
      incoming: requests.get(row.hook_request_id ?? '') ?? null,
      outgoing: requests.get(row.delivery_id ?? '') ?? null,
    },
  }
}

type FoundAction = ActionRow & {
  child_ids: number[]
  /** The newest delivery about the action. */
  delivery_id: string | null
  latest: number | null
  last_use: number | null
  credits: [number, number][]
}

/** The row, and the ids of everything that is shown with it: a read waits for the database as rarely as it can. */
async function findAction(db: Database, id: number): Promise<FoundAction | undefined> {
  const { rows } = await sql<FoundAction>`
    select a.*,
      array(select c.id from actions c where c.parent_id = a.id order by c.id) as child_ids,
      (select d.id from hook_requests d where d.action_id = a.id and d.type = 'outgoing'
        order by d.id desc limit 1) as delivery_id,
      ${newestDeploymentOf(sql`pipeline.application_id`)} as latest,
      ${newestUseOf(sql`application.credential_id`)} as last_use,
      ${creditsAround(sql`a.environment_id`)} as credits
    from actions a
    join pipelines pipeline on pipeline.id = a.pipeline_id
    left join applications application on application.id = pipeline.application_id
    where a.id = ${id}`.execute(db)
  return rows[0]
}

async function loadRelatives(
  { db, baseUrl }: ReadActions,
  { tree, sees }: Sight,
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

async function loadHookRequests(db: Database, ids: readonly string[]): Promise<Map<string, HookRequest>> {
  if (ids.length === 0) return new Map()
  const rows = await db
    .selectFrom('hook_requests')
    .select([
      'id',
      'hook_id',
      'action_id',
      'retry_of',
      'ip_address',
      'url',
      'response_status_code',
      'created_at',
      'updated_at',
    ])
    .where(sql<boolean>`id = any(${ids}::uuid[])`)
    .execute()
  return new Map(rows.map((row) => [row.id, row]))
}
