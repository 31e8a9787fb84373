import type { SecretBox } from '#platform/crypto/secret-box.ts'
import type { Database } from '#platform/database/connect.ts'
import type { Listener } from '#platform/database/listen.ts'
import { commitCalls } from './commit-calls.ts'
import { createGroupCommit } from './group-commit.ts'
import { createHookCache } from './hook-cache.ts'
import { createRateLimiter } from './rate-limit.ts'
import type { ReceiveCalls } from './receive-call.ts'
import { createRefusals } from './refusals.ts'

const FLUSH_EVERY_MS = 5_000

export type Receiver = ReceiveCalls & {
  /** Writes what is only counted so far. */
  close(): Promise<void>
}

/** Puts together what receiving calls needs; one per process. */
export async function createReceiver(deps: {
  db: Database
  box: SecretBox
  listener: Listener
  onError: (error: Error) => void
}): Promise<Receiver> {
  const { db, box, listener } = deps
  const refusals = createRefusals(db)
  const flush = () => refusals.flush().catch(deps.onError)
  const timer = setInterval(flush, FLUSH_EVERY_MS)
  timer.unref()
  return {
    cache: await createHookCache(db, box, listener),
    intake: createGroupCommit((calls) => commitCalls(db, calls)),
    limiter: createRateLimiter(),
    refusals,
    async close() {
      clearInterval(timer)
      await flush()
    },
  }
}
