import { type RawBuilder, sql } from 'kysely'
import type { ApplicationRecord, PipelineRecord } from '#model/inventory/load-resources.ts'
import { byId } from '#platform/database/any-of.ts'
import type { Database } from '#platform/database/connect.ts'
import { STATUSES } from '#platform/vocabulary.ts'
import { ANY_ID, newestInPartition } from './partition.ts'

/** The actions that stand inside the resource of an action: `null` where there is none. */
export type Related = {
  latest: number | null
  live: number | null
  lastUse: number | null
}

export const NOTHING_RELATED: Related = { latest: null, live: null, lastUse: null }

/** Statuses are listed so that the index (pipeline_id, status, id) finds the newest of each at once. */
export function newestDeploymentOf(applicationId: RawBuilder<unknown>): RawBuilder<number | null> {
  return sql`(
    select max(newest.id) from (
      select p.id as pipeline_id, s.status from pipelines p, unnest(${Object.keys(STATUSES)}::text[]) as s (status)
      where p.application_id = ${applicationId} and p.operation = 'deploy'
    ) as lane, lateral ${newestInPartition(['pipeline_id', 'status'], { ids: ANY_ID, limit: 1 })} as newest)`
}

export function newestUseOf(credentialId: RawBuilder<unknown>): RawBuilder<number | null> {
  const used = { ids: ANY_ID, where: [sql`a.credential_id is not null`], limit: 1 }
  return sql`(
    select newest.id from (select ${credentialId} as credential_id) as lane,
      lateral ${newestInPartition(['credential_id'], used)} as newest)`
}

/** By application; one statement, whatever their number. */
export function loadRelated(
  db: Database,
  pipelines: readonly PipelineRecord[],
): Promise<Map<number, Related>> {
  return loadRelatedTo(
    db,
    pipelines.flatMap(({ application }) => application ?? []),
  )
}

export async function loadRelatedTo(
  db: Database,
  records: readonly ApplicationRecord[],
): Promise<Map<number, Related>> {
  const applications = byId(records)
  if (applications.size === 0) return new Map()
  const ids = [...applications.keys()]
  const credentialIds = ids.map((id) => applications.get(id)?.credential?.id ?? null)
  const { rows } = await sql<Record<'latest' | 'live' | 'last_use', number | null> & { id: number }>`
    select wanted.id, (select live_action_id from applications where id = wanted.id) as live, ${newestDeploymentOf(sql`wanted.id`)} as latest, ${newestUseOf(sql`wanted.credential_id`)} as last_use
    from unnest(${ids}::bigint[], ${credentialIds}::bigint[]) as wanted (id, credential_id)`.execute(db)
  return new Map(rows.map(({ id, latest, live, last_use }) => [id, { latest, live, lastUse: last_use }]))
}
