import { createOutageRetrier, type OutageRetrier } from '#platform/database/outages.ts'
import type { Log } from './core.ts'

/** For deliveries; see `createOutageRetrier`: retries outages only. */
export function createOutage(log: Log): { persist: OutageRetrier } {
  return { persist: createOutageRetrier(log, { firstDelayMs: 200 }) }
}
