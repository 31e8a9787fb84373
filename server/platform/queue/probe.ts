import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import type { QueueCore } from './core.ts'
import type { JobHandler } from './handler.ts'

const PROBE = 'queue.probe'

/** The handler for `queue.probe`: that it runs is the answer. */
export const answerProbe: JobHandler<unknown> = async () => {}

/**
 * Proves that jobs go through: some worker of the cluster finished a probe within the last seconds. The
 * proof lies in the database, so a process without workers sees it too, and many processes that ask
 * share one probe. While no worker runs, at most one probe waits.
 */
export type Probe = {
  /** Never throws: a database that cannot be asked is an answer too. Takes at most a little over `waitMs`. */
  isWorking(): Promise<boolean>
}

export function createProbe(options: {
  queue: QueueCore
  /** How old the proof may be. */
  freshMs?: number
  waitMs?: number
}): Probe {
  const { queue, freshMs = 10_000, waitMs = 2_000 } = options
  let asking: Promise<boolean> | undefined
  let knownUntil = 0

  async function hasProof(): Promise<boolean> {
    const { rows } = await sql<{ age: number | null }>`
      select extract(epoch from queue.job_now() - max(completed_on))::float8 * 1000 as age
      from queue.job where name = ${PROBE} and state = 'completed'`.execute(queue.db)
    const age = rows[0]?.age ?? Number.POSITIVE_INFINITY
    if (age > freshMs) return false
    knownUntil = performance.now() + freshMs - age
    return true
  }

  async function ask(): Promise<boolean> {
    const deadline = performance.now() + waitMs
    if (await hasProof()) return true
    await queue.boss.insert(PROBE, [{ data: {} }])
    for (let pauseMs = 5; performance.now() < deadline; pauseMs = Math.min(pauseMs * 2, 200)) {
      await delay(pauseMs)
      if (await hasProof()) return true
    }
    return false
  }

  return {
    async isWorking() {
      if (performance.now() < knownUntil) return true
      asking ??= ask()
        .catch(() => false)
        .finally(() => {
          asking = undefined
        })
      return asking
    },
  }
}
