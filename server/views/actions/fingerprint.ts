import { sql } from 'kysely'
import { newestDeploymentOf, newestUseOf } from '#model/actions/related.ts'
import { creditsAround } from '#model/actions/used-credits.ts'
import type { Database } from '#platform/database/connect.ts'
import { shareStatement } from '#platform/database/share-loads.ts'
import { DATABASE_STATE } from '#platform/database/state.ts'

/**
 * What an answer about an action depends on besides the tree and its reader: as long as the fingerprint is
 * the same, so is the answer. PostgreSQL's own row versions (xmin) make it up, and ids of what may come or go. (What is
 * shown of the call that started it never changes.)
 */
export type Fingerprint = {
  id: number
  environment_id: number
  fingerprint: string
  /** Of the database, when it was taken. */
  state: string
}

export type FindFingerprint = (id: number) => Promise<Fingerprint | undefined>

export function createFingerprintFinder(db: Database): FindFingerprint {
  return shareStatement(db, fingerprints)
}

function fingerprints(ids: readonly string[]) {
  return sql<Fingerprint>`
    with wanted as (select unnest(${ids}::bigint[]) as id),
    found as materialized (
      select a.id, a.environment_id, a.parent_id, application.live_action_id as live,
        ${newestDeploymentOf(sql`pipeline.application_id`)} as latest,
        ${newestUseOf(sql`application.credential_id`)} as last_use,
        (select h.id || ' ' || h.xmin::text from hook_requests h where h.action_id = a.id and h.type = 'outgoing'
          order by h.id desc limit 1) as outgoing,
        ${creditsAround(sql`a.environment_id`)}::text as credits
      from wanted
      join actions a on a.id = wanted.id
      join pipelines pipeline on pipeline.id = a.pipeline_id
      left join applications application on application.id = pipeline.application_id
    )
    select id, environment_id, ${sql.raw(DATABASE_STATE)} as state, concat_ws('|', coalesce(live, 0), coalesce(latest, 0), coalesce(last_use, 0), outgoing, credits,
      (select string_agg(shown.id || ' ' || shown.xmin::text || ' ' || coalesce((
          select string_agg(t.xmin::text, ',' order by t.position) from targets t where t.action_id = shown.id), ''), ';' order by shown.id)
        from actions shown where shown.id in (found.id, latest, last_use, live)),
      (select parent.xmin::text from actions parent where parent.id = found.parent_id),
      (select string_agg(child.id || ' ' || child.xmin::text, ';' order by child.id)
        from actions child where child.parent_id = found.id)) as fingerprint
    from found`
}
