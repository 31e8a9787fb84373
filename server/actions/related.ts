import { sql } from 'kysely'
import type { Database } from '#database/connect.ts'
import type { PipelineRecord } from '#inventory/load-resources.ts'
import { STATUSES } from '../vocabulary.ts'

/** The actions that stand inside the resources of other actions. */
export type RelatedIds = {
  /** Application → its newest deployment. */
  latestOf: Map<number, number>
  /** Credential → the newest action that used it. */
  lastUseOf: Map<number, number>
  /** All of them, and the live deployments. */
  all: number[]
}

/** One statement, whatever the number of applications. */
export async function loadRelatedIds(
  db: Database,
  pipelines: readonly PipelineRecord[],
): Promise<RelatedIds> {
  const applications = pipelines.flatMap((pipeline) => pipeline.application ?? [])
  const none: RelatedIds = { latestOf: new Map(), lastUseOf: new Map(), all: [] }
  if (applications.length === 0) return none
  const applicationIds = [...new Set(applications.map((one) => one.id))]
  const credentialIds = [...new Set(applications.flatMap((one) => one.credential?.id ?? []))]
  // Statuses are listed so that the index (pipeline_id, status, id) finds the newest of each at once.
  const { rows } = await sql<{
    application_id: number | null
    credential_id: number | null
    action_id: number | null
  }>`
    select wanted.id as application_id, null::bigint as credential_id, (
      select max(newest.id) from pipelines p, unnest(${Object.keys(STATUSES)}::text[]) as s (status),
        lateral (select a.id from actions a where a.pipeline_id = p.id and a.status = s.status order by a.id desc limit 1) as newest
      where p.application_id = wanted.id and p.operation = 'deploy') as action_id
    from unnest(${applicationIds}::bigint[]) as wanted (id)
    union all
    select null, wanted.id, (select max(a.id) from actions a where a.credential_id = wanted.id)
    from unnest(${credentialIds}::bigint[]) as wanted (id)`.execute(db)
  const found = { ...none }
  for (const { application_id, credential_id, action_id } of rows) {
    if (action_id === null) continue
    if (application_id !== null) found.latestOf.set(application_id, action_id)
    if (credential_id !== null) found.lastUseOf.set(credential_id, action_id)
  }
  const live = applications.flatMap((one) => one.live_action_id ?? [])
  found.all = [...new Set([...found.latestOf.values(), ...found.lastUseOf.values(), ...live])]
  return found
}
