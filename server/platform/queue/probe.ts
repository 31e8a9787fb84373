import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import { withQueryTimeout } from '#platform/database/client.ts'
import type { Database } from '#platform/database/connect.ts'
import type { QueueCore } from './core.ts'
import type { JobHandler } from './handler.ts'
import { within } from './repeat.ts'

const PROBE = 'queue.probe'
/** For a database that is silent: health checks and metrics are asked for often, and must not pile up. */
const QUERY_MS = 2_000
/** Load balancers do not wait for long. */
const ANSWER_MS = 500
/** How much longer the last probe counts while a new one is under way. */
const PATIENCE_MS = 3_000

/** The handler of `queue.probe`: that it runs is the result. */
export const answerProbe: JobHandler<unknown> = async () => {}

/**
 * Verifies that jobs are processed: some worker of the cluster completed a probe within the last seconds. The
 * evidence is in the database, so a process without workers sees it too, and concurrent checks share one probe.
 * While no worker runs, at most one probe waits.
 */
export function createProbe(options: {
  queue: Pick<QueueCore, 'boss'>
  /** Over which it asks for the result: the connections of the queue may all be in use. */
  db: Database
  /** The maximum age of a completed probe. */
  maxAgeMs?: number
  waitMs?: number
}): { isWorking(): Promise<boolean> } {
  const { queue, db, maxAgeMs = 10_000, waitMs = 2_000 } = options
  let checking: Promise<boolean> | undefined
  let validUntil = 0
  let doubtedFrom = 0

  async function wasProbed(): Promise<boolean> {
    const { rows } = await sql<{ age: number | null }>`
      select extract(epoch from queue.job_now() - max(completed_on))::float8 * 1000 as age
      from queue.job where name = ${PROBE} and state = 'completed'`.execute(db)
    const age = rows[0]?.age ?? Number.POSITIVE_INFINITY
    if (age > maxAgeMs) return false
    validUntil = performance.now() + maxAgeMs - age
    doubtedFrom = validUntil + PATIENCE_MS
    return true
  }

  async function check(): Promise<boolean> {
    const deadline = performance.now() + waitMs
    if (await wasProbed()) return true
    await queue.boss.insert(PROBE, [{ data: {} }])
    for (let pauseMs = 5; performance.now() < deadline; pauseMs = Math.min(pauseMs * 2, 200)) {
      await delay(pauseMs)
      if (await wasProbed()) return true
    }
    return false
  }

  return {
    /**
     * Never throws: false during an outage. Answers within `ANSWER_MS`; a probe that takes longer is waited for in the
     * background, and until then the last one counts for a little longer.
     */
    async isWorking() {
      if (performance.now() < validUntil) return true
      checking ??= withQueryTimeout(QUERY_MS, check)
        .catch(() => false)
        .finally(() => {
          checking = undefined
        })
      const result = checking
      return (await within(ANSWER_MS, result)) ? result : performance.now() < doubtedFrom
    },
  }
}
