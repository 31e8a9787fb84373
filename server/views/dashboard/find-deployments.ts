import { sql } from 'kysely'
import type { EmbedDeps } from '#model/actions/embedded.ts'
import { permalink, presentStatus } from '#model/actions/present.ts'
import type { Commit, ReasonCode, Status } from '#platform/database/tables.ts'
import type { RecentDeployment } from './schemas.ts'

const MAX_DEPLOYMENTS = 20

type Row = {
  action_id: number
  kind: RecentDeployment['kind']
  activated_at: string
  servers: number
  reverted_servers: number
  commit_sha: string | null
  commit: Commit | null
  status: Status
  status_reason_code: ReasonCode
  application: { id: number; name: string }
  environment_id: number
}

/** Runs of these environments that switched a server, latest first; one index scan per environment. */
export async function findRecentDeployments(
  { db, baseUrl }: Pick<EmbedDeps, 'db' | 'baseUrl'>,
  environmentIds: readonly number[],
): Promise<RecentDeployment[]> {
  const last = sql`greatest(d.last_activated_at, d.reverted_at)`
  const { rows } = await sql<Row>`
    select d.action_id, case when d.is_rollback then 'rollback' when a.deployment ->> 'type' = 'redeploy' then 'redeploy'
        else 'deploy' end as kind,
      d.last_activated_at as activated_at, cardinality(d.server_ids) as servers,
      cardinality(d.reverted_server_ids) as reverted_servers, d.commit_sha, a.commit, a.status, a.status_reason_code,
      json_build_object('id', app.id, 'name', app.name) as application, d.environment_id
    from (
      select newest.* from unnest(${environmentIds}::bigint[]) as e (id), lateral (
        select * from deployments d where d.environment_id = any(array[e.id])
        order by d.environment_id desc, ${last} desc limit (select ${MAX_DEPLOYMENTS}::bigint)
      ) as newest
      order by greatest(newest.last_activated_at, newest.reverted_at) desc, newest.action_id desc
      limit ${MAX_DEPLOYMENTS}::bigint
    ) as d
    join actions a on a.id = d.action_id
    join applications app on app.id = d.application_id
    order by ${last} desc, d.action_id desc`.execute(db)
  return rows.map(({ commit_sha, commit, status, status_reason_code, ...row }) => ({
    ...row,
    ...presentStatus(status, status_reason_code),
    commit: commit_sha === null ? null : presentCommit(commit_sha, commit),
    url_web_permalink: permalink(baseUrl(), row.action_id),
  }))
}

export function presentCommit(hash: string, commit: Commit | null) {
  return { hash, message: commit?.message ?? null, url: commit?.url ?? null }
}
