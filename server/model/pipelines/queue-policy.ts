import { sql } from 'kysely'
import type { Transaction } from '#platform/database/connect.ts'
import type { PipelineDefinition } from './plan.ts'

type Pipeline = Pick<PipelineDefinition, 'id' | 'queuePolicy' | 'maxParallelActions'>

/**
 * Keeps others from starting runs on these pipelines until the transaction ends, so that two processes cannot both
 * take the last slot.
 */
export async function lockPipelines(trx: Transaction, pipelines: readonly Pipeline[]): Promise<void> {
  if (pipelines.length === 0) return
  const ids = pipelines.map(({ id }) => id)
  const locked = sql`select id from pipelines where id = any(${ids}::bigint[]) order by id for no key update`
  await locked.execute(trx)
}

/** Whether each of these runs, about to start in this order on locked pipelines, may start. */
export async function acquireSlots(trx: Transaction, pipelines: readonly Pipeline[]): Promise<boolean[]> {
  if (pipelines.length === 0) return []
  const ids = pipelines.map(({ id }) => id)
  const { rows } = await sql<{ pipeline_id: number; unfinished: number }>`
    select pipeline_id, count(*) as unfinished from actions
    where pipeline_id = any(${ids}::bigint[]) and status in ('pending', 'waiting', 'queued', 'in-progress')
    group by pipeline_id`.execute(trx)
  const unfinished = new Map(rows.map((row) => [row.pipeline_id, row.unfinished]))
  return pipelines.map(({ id, queuePolicy, maxParallelActions }) => {
    const running = unfinished.get(id) ?? 0
    const isFull = maxParallelActions > 0 && running >= maxParallelActions
    if (queuePolicy === 'reject' && isFull) return false
    unfinished.set(id, running + 1)
    return true
  })
}
