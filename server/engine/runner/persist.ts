import { setTimeout as delay } from 'node:timers/promises'
import { isDatabaseAway } from '#platform/database/faults.ts'

const FIRST_DELAY_MS = 100
const MAX_DELAY_MS = 2_000

/**
 * Repeats work on the database for as long as the database is away: the result of a step that took an hour
 * must not be lost with a connection. The work may have gone through although its answer was lost, so it has
 * to be harmless the second time. Throws what else goes wrong, and when the signal aborts.
 */
export async function persist<Result>(work: () => Promise<Result>, signal: AbortSignal): Promise<Result> {
  for (let delayMs = FIRST_DELAY_MS; ; delayMs = Math.min(delayMs * 2, MAX_DELAY_MS)) {
    try {
      return await work()
    } catch (error) {
      if (!isDatabaseAway(error)) throw error
    }
    await delay(delayMs, undefined, { signal })
  }
}
