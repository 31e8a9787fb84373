import { type RawBuilder, sql } from 'kysely'
import type { Database } from '#platform/database/connect.ts'
import { shareStatement } from '#platform/database/share-loads.ts'
import type { ActionRow } from './present.ts'
import { newestDeploymentOf, newestUseOf } from './related.ts'
import type { HookRequest } from './schemas.ts'
import { creditsAround } from './used-credits.ts'

/** An action's row, and what is shown with it that the same statement can find. */
export type FoundAction = ActionRow & {
  child_ids: number[]
  /** The call that started it, and the newest delivery about it; times as PostgreSQL writes them in JSON. */
  incoming: HookRequest | null
  outgoing: HookRequest | null
  latest: number | null
  live: number | null
  last_use: number | null
  credits: [number, number][]
}

export type FindAction = (id: number) => Promise<FoundAction | undefined>

export function createActionFinder(db: Database): FindAction {
  return shareStatement(db, foundActions)
}

function foundActions(ids: readonly string[]): RawBuilder<FoundAction> {
  return sql<FoundAction>`
    with wanted as (select unnest(${ids}::bigint[]) as id)
    select a.*,
      array(select c.id from actions c where c.parent_id = a.id order by c.id) as child_ids,
      (select ${HOOK_REQUEST} from hook_requests h where h.id = a.hook_request_id) as incoming,
      (select ${HOOK_REQUEST} from hook_requests h where h.action_id = a.id and h.type = 'outgoing'
        order by h.id desc limit 1) as outgoing,
      ${newestDeploymentOf(sql`pipeline.application_id`)} as latest, application.live_action_id as live,
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
