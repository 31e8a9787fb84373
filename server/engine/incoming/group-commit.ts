import { isOutage } from '#platform/database/outages.ts'
import type { CallToStore, StoredCall } from './call-to-store.ts'

/**
 * Group commit: calls that arrive while a commit is under way share the next one. Each call is answered
 * only when its own commit is through. A statement costs as much as a dozen calls, so a second commit begins beside
 * the first only when enough calls wait for it, or when the first takes long, as one does that waits for a lock. A third
 * would only wait for the others.
 */
export type GroupCommit = {
  /** Rejects when the call was not stored. */
  store(call: CallToStore): Promise<StoredCall>
}

/** Thrown when more calls wait than memory should hold. */
export class OverloadError extends Error {}

const MOST_IN_FLIGHT = 2
/** So many calls are worth a commit of their own. */
const MANY = 48
const LONG_MS = 50
const MOST_PER_COMMIT = 128
const MOST_BYTES_PER_COMMIT = 8 * 1024 * 1024
const MOST_WAITING = 5_000
const MOST_WAITING_BYTES = 64 * 1024 * 1024

type Waiting = { call: CallToStore; resolve(result: StoredCall): void; reject(error: unknown): void }

export function createGroupCommit(commit: (calls: CallToStore[]) => Promise<StoredCall[]>): GroupCommit {
  const waiting: Waiting[] = []
  let waitingBytes = 0
  let inFlight = 0
  let begunAt = 0

  function takeBatch(): Waiting[] {
    const version = waiting[0]!.call.version
    let bytes = 0
    let count = 0
    for (const { call } of waiting) {
      bytes += sizeOf(call)
      const isFull = count >= MOST_PER_COMMIT || (count > 0 && bytes > MOST_BYTES_PER_COMMIT)
      if (isFull || call.version !== version) break
      count += 1
    }
    const batch = waiting.splice(0, count)
    for (const { call } of batch) waitingBytes -= sizeOf(call)
    return batch
  }

  async function flush(): Promise<void> {
    inFlight += 1
    // Calls that were read from their sockets in the same turn come along.
    await new Promise(setImmediate)
    while (waiting.length > 0) await commitBatch(takeBatch())
    inFlight -= 1
  }

  /** Whether the next call begins a commit, or waits for the end of one that is under way. */
  function isDue(): boolean {
    if (inFlight === 0) return true
    const isWorthIt = waiting.length >= MANY || performance.now() - begunAt > LONG_MS
    return inFlight < MOST_IN_FLIGHT && isWorthIt
  }

  async function commitBatch(batch: Waiting[]): Promise<void> {
    begunAt = performance.now()
    try {
      const results = await commit(batch.map(({ call }) => call))
      batch.forEach(({ resolve }, index) => {
        resolve(results[index]!)
      })
    } catch (error) {
      if (batch.length === 1 || isOutage(error)) {
        for (const { reject } of batch) reject(error)
        return
      }
      // One of them is at fault: alone, it harms nobody.
      for (const one of batch) await commitBatch([one])
    }
  }

  return {
    store(call) {
      if (waiting.length >= MOST_WAITING || waitingBytes > MOST_WAITING_BYTES)
        return Promise.reject(new OverloadError('too many calls wait'))
      return new Promise((resolve, reject) => {
        waiting.push({ call, resolve, reject })
        waitingBytes += sizeOf(call)
        if (isDue()) void flush()
      })
    },
  }
}

function sizeOf(call: CallToStore): number {
  return (call.record.body?.length ?? 0) + 1024
}
