import { type RawBuilder, sql } from 'kysely'
import { type Database, isoFromPostgres } from '#platform/database/connect.ts'
import { shareStatement } from '#platform/database/share-loads.ts'
import { maskPath } from '#platform/masking/masked.ts'
import { loadActionRefs } from './action-refs.ts'
import { assembleItem, loadSummaries, shareFullActionLoads } from './assemble.ts'
import type { ActionRow } from './present.ts'
import { liveActionOf, newestDeploymentOf, newestUseOf } from './related.ts'
import type { Action, HookRequest } from './schemas.ts'
import { creditsAround, withCredits } from './used-credits.ts'
import type { Visibility } from './visibility.ts'

/** Undefined when there is no such action, or the caller may not see it. */
export type ReadAction = (visibility: Visibility, id: number) => Promise<Action | undefined>

type ActionReaderDeps = { db: Database; baseUrl: () => string }

/** Reads single actions in full. Concurrent reads share their statements, so a process needs one reader. */
export function createActionReader({ db, baseUrl }: ActionReaderDeps): ReadAction {
  const findAction = shareStatement(db, findActions)
  const loadFull = shareFullActionLoads(db)
  return async (visibility, id) => {
    const row = await findAction(id)
    if (!row || !visibility.sees(row.environment_id)) return undefined

    const deps = { db, baseUrl: baseUrl(), loadFull }
    const { tree, scopes } = visibility
    const related = { latest: row.latest, live: row.live, lastUse: row.last_use }
    const relativeIds = row.parent_id === null ? row.child_ids : [row.parent_id, ...row.child_ids]
    const [environments, pipelines, users, summaries, relatives] = await Promise.all([
      tree.environments([row.environment_id]),
      tree.pipelines([row.pipeline_id]),
      tree.users(row.triggered_by === null ? [] : [row.triggered_by]),
      loadSummaries(deps, visibility, [row], [related]),
      loadActionRefs(deps, visibility, relativeIds),
    ])
    const environment = withCredits(environments.get(row.environment_id)!, new Map(row.credits), scopes)
    return {
      ...assembleItem(row, pipelines.get(row.pipeline_id)!, environment, related, summaries),
      pipeline_id: row.pipeline_id,
      retry_of: row.retry_of,
      parent: relatives.find((one) => one.id === row.parent_id) ?? null,
      children: relatives.filter((one) => one.id !== row.parent_id),
      triggered_by_user: users.get(row.triggered_by ?? 0) ?? null,
      hook_requests: {
        incoming: row.incoming && withIsoTimes(row.incoming),
        // Runs are visible to people who may see no hook at all.
        outgoing: row.outgoing && { ...withIsoTimes(row.outgoing), url: maskPath(row.outgoing.url) },
      },
    }
  }
}

/** What the response shows besides summaries; they have the rest of the row. */
type FoundAction = Pick<ActionRow, (typeof COLUMNS)[number]> & {
  child_ids: number[]
  /** The call that started it, and the newest delivery about it; times as PostgreSQL writes them in JSON. */
  incoming: HookRequest | null
  outgoing: HookRequest | null
  latest: number | null
  live: number | null
  last_use: number | null
  credits: [number, number][]
}

const COLUMNS = [
  'id',
  'environment_id',
  'pipeline_id',
  'trigger_comment',
  'triggered_by',
  'retry_of',
  'parent_id',
] as const

/** The inner select hides the number of ids from the planner, as `anyId` does. */
function findActions(ids: readonly string[]): RawBuilder<FoundAction> {
  return sql<FoundAction>`
    with wanted as (select unnest((select ${ids}::bigint[])) as id)
    select ${sql.join(COLUMNS.map((column) => sql.ref(`a.${column}`)))},
      array(select c.id from actions c where c.parent_id = a.id order by c.id) as child_ids,
      (select ${HOOK_REQUEST} from hook_requests h where h.id = a.hook_request_id) as incoming,
      (select ${HOOK_REQUEST} from hook_requests h where h.action_id = a.id and h.type = 'outgoing'
        and h.event_kind is distinct from 'test'
        order by h.id desc limit 1) as outgoing,
      ${newestDeploymentOf(sql`pipeline.application_id`)} as latest, ${liveActionOf(sql`pipeline.application_id`)} as live,
      ${newestUseOf(sql`application.credential_id`)} as last_use,
      ${creditsAround(sql`a.environment_id`)} as credits
    from wanted
    join actions a on a.id = wanted.id
    join pipelines pipeline on pipeline.id = a.pipeline_id
    left join applications application on application.id = pipeline.application_id`
}

const HOOK_REQUEST = sql`json_build_object('id', h.id, 'hook_id', h.hook_id, 'action_id', h.action_id,
  'retry_of', h.retry_of, 'ip_address', h.ip_address, 'url', h.url, 'response_status_code', h.response_status_code,
  'created_at', h.created_at, 'updated_at', h.updated_at)`

function withIsoTimes(request: HookRequest): HookRequest {
  return {
    ...request,
    created_at: isoFromPostgres(request.created_at),
    updated_at: isoFromPostgres(request.updated_at),
  }
}
