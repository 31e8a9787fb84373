import { isOutage } from '#platform/database/outages.ts'
import { unavailable } from '#platform/http/errors.ts'
import { type StoredCall, takesLocks } from './commit-calls.ts'
import type { CallToStore } from './insert-calls.ts'

const MAX_IN_FLIGHT = 2
/** This many calls are worth a second commit: PostgreSQL goes on with it while Node answers the first. */
const MANY_WAITING = 16
/** A commit that takes longer may be waiting for a lock: one more is sent, on another connection. */
const SLOW_MS = 50
const MAX_PER_COMMIT = 128
const MAX_BYTES_PER_COMMIT = 8 * 1024 * 1024
const MAX_WAITING = 5_000
const MAX_WAITING_BYTES = 64 * 1024 * 1024

type Waiting = { call: CallToStore; resolve(result: StoredCall): void; reject(error: unknown): void }

type LookUp = (calls: CallToStore[], error: unknown, began: number) => Promise<StoredCall[]>

/** The calls that wait, of all groups of a process together. */
export type Crowd = { calls: number; bytes: number }

export type GroupCommit = ReturnType<typeof createGroupCommit>

/**
 * Group commit: calls that arrive while a commit is in flight share the next one. Each call is answered only after its
 * own commit. A statement costs as much as several calls, so a second commit is sent only when enough calls wait for it.
 * Usually it queues behind the first, on the same connection (share-connections.ts); one more is sent on another connection
 * while the first is slow, for example because it waits for a lock.
 */
export function createGroupCommit(
  commit: (calls: CallToStore[]) => Promise<StoredCall[]>,
  /** Finds out what became of calls whose commit failed at `began`; throws when it cannot. */
  lookUp: LookUp = (_calls, error) => Promise.reject(error),
  crowd: Crowd = { calls: 0, bytes: 0 },
) {
  const waiting: Waiting[] = []
  /** When the commits in flight were started, in this order. */
  const inFlight: { at: number }[] = []
  /** Their calls. */
  let committing = 0
  let isTimed = false

  function takeBatch(): Waiting[] {
    const version = waiting[0]!.call.version
    const most = Math.min(MAX_PER_COMMIT, shareOf(waiting.length, committing))
    let bytes = 0
    let count = 0
    for (const { call } of waiting) {
      bytes += sizeOf(call)
      const isFull = count >= most || (count > 0 && bytes > MAX_BYTES_PER_COMMIT)
      if (isFull || call.version !== version) break
      count += 1
    }
    const batch = waiting.splice(0, count)
    crowd.calls -= batch.length
    for (const { call } of batch) crowd.bytes -= sizeOf(call)
    return batch
  }

  async function flush(): Promise<void> {
    const started = { at: performance.now() }
    inFlight.push(started)
    // Calls that were read from their sockets in the same turn are included.
    await new Promise(setImmediate)
    if (waiting.length > 0) {
      const batch = takeBatch()
      committing += batch.length
      await commitBatch(batch)
      committing -= batch.length
    }
    inFlight.splice(inFlight.indexOf(started), 1)
    flushWhenDue()
  }

  /** Also when nothing happens any more except that a commit becomes slow. */
  function flushWhenDue(): void {
    if (isDue()) void flush()
    if (waiting.length === 0 || isTimed) return
    isTimed = true
    setTimeout(() => {
      isTimed = false
      flushWhenDue()
    }, SLOW_MS)
  }

  /** Whether the calls that wait start a commit, or wait for one in flight to end. */
  function isDue(): boolean {
    const first = inFlight[0]
    if (waiting.length === 0 || !first) return waiting.length > 0
    const isSlow = performance.now() - first.at > SLOW_MS
    return isSlow
      ? inFlight.length <= MAX_IN_FLIGHT
      : inFlight.length < MAX_IN_FLIGHT && waiting.length >= MANY_WAITING
  }

  async function commitBatch(batch: Waiting[]): Promise<void> {
    const began = performance.now()
    const calls = batch.map(({ call }) => call)
    const answer = (results: StoredCall[]) => {
      batch.forEach(({ resolve }, index) => {
        resolve(results[index]!)
      })
    }
    const rejectAll = (error: unknown) => {
      for (const { reject } of batch) reject(error)
    }
    try {
      answer(await commit(calls))
    } catch (error) {
      if (batch.length === 1 || isOutage(error)) {
        // The next batch does not wait for it.
        void lookUp(calls, error, began).then(answer, rejectAll)
        return
      }
      // One of them caused the error: alone, it affects no other.
      for (const one of batch) await commitBatch([one])
    }
  }

  return {
    /** Rejects when the call was not stored: with `unavailable` when more calls wait than memory should hold. */
    store(call: CallToStore): Promise<StoredCall> {
      if (crowd.calls >= MAX_WAITING || crowd.bytes > MAX_WAITING_BYTES) return Promise.reject(unavailable())
      return new Promise((resolve, reject) => {
        waiting.push({ call, resolve, reject })
        crowd.calls += 1
        crowd.bytes += sizeOf(call)
        flushWhenDue()
      })
    },
  }
}

/**
 * How many of the waiting calls a commit takes: beside another commit, half of all. Otherwise callers that wait for their
 * answers fall into a large and a small group, and Node and PostgreSQL wait for each other.
 */
function shareOf(waiting: number, committing: number): number {
  return committing === 0 ? waiting : Math.max(MANY_WAITING, Math.ceil((waiting + committing) / 2))
}

function sizeOf(call: CallToStore): number {
  return (call.record.request_body?.length ?? 0) + 1024
}

/**
 * Calls that may have to wait for a lock of their environment are committed together with others of that environment
 * only: a lock that is not released refuses no call of another one.
 */
export function createCallGroups(
  ...[commit, lookUp]: Parameters<typeof createGroupCommit>
): Pick<GroupCommit, 'store'> {
  const crowd: Crowd = { calls: 0, bytes: 0 }
  const openGroup = () => createGroupCommit(commit, lookUp, crowd)
  const quick = openGroup()
  const byEnvironment = new Map<number, GroupCommit>()
  const groupOf = (call: CallToStore) =>
    takesLocks(call) ? byEnvironment.getOrInsertComputed(call.hook.pipeline.environmentId, openGroup) : quick
  return { store: (call) => groupOf(call).store(call) }
}
