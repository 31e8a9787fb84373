import { type RawBuilder, sql } from 'kysely'
import type { ApplicationRecord } from '#model/inventory/load-resources.ts'
import { byId } from '#platform/database/any-of.ts'
import type { Database } from '#platform/database/connect.ts'
import { STATUSES } from '#platform/vocabulary.ts'
import { newestRecordedUseOf } from './credential-uses.ts'
import { ANY_ID, newestInPartition } from './partition.ts'

/** The actions embedded in the resource of an action: its newest deployment, the live one, the credential's last use. */
export type Related = {
  latest: number | null
  live: number | null
  lastUse: number | null
}

export const NOTHING_RELATED: Related = { latest: null, live: null, lastUse: null }

const ALL_STATUSES = sql.join(Object.keys(STATUSES).map((status) => sql.lit(status)))

/**
 * Statuses are listed so that the index (pipeline_id, status, id) finds the newest of each at once. As a parameter, they
 * would be counted anew, and the statement planned, each time it runs.
 */
export function newestDeploymentOf(applicationId: RawBuilder<unknown>): RawBuilder<number | null> {
  return sql`(
    select max(newest.id) from (
      select p.id as pipeline_id, s.status from pipelines p, unnest(array[${ALL_STATUSES}]) as s (status)
      where p.application_id = ${applicationId} and p.operation = 'deploy'
    ) as partition, lateral ${newestInPartition(['pipeline_id', 'status'], { ids: ANY_ID, limit: 1 })} as newest)`
}

/** The newest action that is live on any server. */
export function liveActionOf(applicationId: RawBuilder<unknown>): RawBuilder<number | null> {
  return sql`(select max(action_id) from live_releases where application_id = ${applicationId})`
}

/** For a source, a connection or a delivery. */
export function newestUseOf(credentialId: RawBuilder<unknown>): RawBuilder<number | null> {
  return sql`greatest(${newestSourceUseOf(credentialId)}, ${newestRecordedUseOf(credentialId)})`
}

function newestSourceUseOf(credentialId: RawBuilder<unknown>): RawBuilder<number | null> {
  const used = { ids: ANY_ID, where: [sql`a.credential_id is not null`], limit: 1 }
  return sql`(
    select newest.id from (select ${credentialId} as credential_id) as partition,
      lateral ${newestInPartition(['credential_id'], used)} as newest)`
}

/** By application; one statement for any number of them. */
export async function loadRelated(
  db: Database,
  records: readonly ApplicationRecord[],
): Promise<Map<number, Related>> {
  const applications = [...byId(records).values()]
  if (applications.length === 0) return new Map()
  const ids = applications.map(({ id }) => id)
  const credentialIds = applications.map(({ credential }) => credential?.id ?? null)
  const { rows } = await sql<Related & { id: number }>`
    select wanted.id, ${liveActionOf(sql`wanted.id`)} as live,
      ${newestDeploymentOf(sql`wanted.id`)} as latest, ${newestUseOf(sql`wanted.credential_id`)} as "lastUse"
    from unnest((select ${ids}::bigint[]), (select ${credentialIds}::bigint[])) as wanted (id, credential_id)`.execute(
    db,
  )
  return byId(rows)
}
