import type { Database } from '#platform/database/connect.ts'
import { type Claim, createTurns, type Requests, renewClaim } from './claim-due.ts'

/** How many batches one process prepares side by side: each may fetch from a repository. */
const BATCHES = 4
const RENEW_MS = 10_000
/** While half of a batch has arrived within a second, the next one waits so many times as long as this one took. */
const YIELDS = 9

type Deps = { db: Database; onError: (error: Error) => void }

/** Of runs of one pipeline. */
export type Prepare = (actionIds: readonly number[]) => Promise<'unreachable' | undefined>

/**
 * Prepares the runs that are due, those of an application one batch after the other. While calls come by the hundred, their
 * runs take a part of the machine only, so that it can answer the calls; the rest of them follow when there are fewer.
 */
export function createTurnTaking(
  { db, onError }: Deps,
  { requests, atOnce }: { requests: Requests; atOnce: number },
  prepare: Prepare,
  signal: AbortSignal,
) {
  const turns = createTurns(db, { requests, atOnce })
  const working = new Set<Promise<void>>()

  async function prepareClaimed(claim: Claim): Promise<void> {
    const began = performance.now()
    const renewing = setInterval(() => void renewClaim(db, requests, claim).catch(() => {}), RENEW_MS)
    try {
      if ((await prepareEach(claim.actionIds)) === 'unreachable') turns.rest(claim)
    } finally {
      clearInterval(renewing)
      if (atOnce > 1 && claim.arriving > atOnce / 2) turns.yield(claim, (performance.now() - began) * YIELDS)
      turns.done(claim)
    }
  }

  /** Together; if that fails, one by one, so that one of them does not hold up the others. */
  async function prepareEach(actionIds: readonly number[]): Promise<'unreachable' | undefined> {
    try {
      return await prepare(actionIds)
    } catch (error) {
      if (signal.aborted) return undefined
      // Due again when the lease ends.
      if (actionIds.length === 1) return void onError(error as Error)
    }
    let outcome: 'unreachable' | undefined
    for (const id of actionIds) outcome = (await prepareEach([id])) ?? outcome
    return outcome
  }

  /** Takes one after the other; while there is more, another one works beside it. */
  function begin(): void {
    if (working.size >= BATCHES || signal.aborted) return
    const work = (async () => {
      for (;;) {
        const claim = signal.aborted ? undefined : await turns.next()
        if (!claim) return
        begin()
        await prepareClaimed(claim)
      }
    })()
      .catch((error) => {
        if (!signal.aborted) onError(error as Error)
      })
      .finally(() => working.delete(work))
    working.add(work)
  }

  return {
    begin,
    async idle(): Promise<void> {
      while (working.size > 0) await Promise.all(working)
    },
  }
}
