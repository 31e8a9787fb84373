import type { OnMoves } from '#engine/scheduling/committed-moves.ts'
import { reportMoves } from '#engine/scheduling/committed-moves.ts'
import type { Push } from '#model/connections/read-push.ts'
import type { SecretBox } from '#platform/crypto/secret-box.ts'
import type { Database, Transaction } from '#platform/database/connect.ts'
import { VERSION } from '#platform/version.ts'
import { commitInTransaction } from './commit-calls.ts'
import { loadHook } from './compiled-hook.ts'
import { evaluatePayload, recordOf } from './evaluate-call.ts'
import { retryWhileStale } from './receive-call.ts'
import { idempotencyKey } from './sender-headers.ts'

export type FoundCall = {
  hookId: string
  /** Where it was found. */
  url: string
  headers: Record<string, string>
  body: Buffer
  push: Push
}

export type FoundResult = 'started' | 'duplicate' | 'recorded' | 'refused' | 'gone' | 'lost'

/**
 * Stores a call that Gantry made by itself, because a host could not. It is not signed, and has no address. `before` and
 * `after` run in its transaction; when `before` returns false, nothing is stored.
 */
export function storeFoundCall(
  { db, box, onMoves }: { db: Database; box: SecretBox; onMoves?: OnMoves | undefined },
  found: FoundCall,
  {
    before,
    after,
  }: {
    before: (trx: Transaction) => Promise<boolean>
    after: (trx: Transaction, requestId: string) => Promise<void>
  },
): Promise<FoundResult> {
  return retryWhileStale<FoundResult>(async () => {
    const startedAt = performance.now()
    const { version } = await db.selectFrom('tree_version').select('version').executeTakeFirstOrThrow()
    const hook = await loadHook(db, box, { hookId: found.hookId })
    if (!hook?.active) return 'gone'
    const call = { headers: found.headers, body: found.body, address: null }
    const verdict = evaluatePayload(hook, call)
    const push = hook.isConnected ? found.push : null
    const record = recordOf(hook, call, { verdict, body: call.body, push }, found.url, startedAt)
    const key = idempotencyKey(call.headers, call.body)
    const start =
      verdict.kind === 'accepted'
        ? { key, origin: `Gantry/${VERSION}`, user: null, variables: verdict.variables }
        : null
    return reportMoves(db, onMoves, async (trx) => {
      if (!(await before(trx))) return 'lost'
      const [stored] = await commitInTransaction(trx, [{ hook, version, record, start }], [0], [])
      if (stored!.kind === 'stale') return 'stale'
      if (stored!.kind === 'refused') {
        const message = hook.plan.kind === 'impossible' ? hook.plan.reason : BUSY
        const refused = {
          ...record,
          outcome: 'rejected_state',
          response_status_code: 409,
          response_body: JSON.stringify({ message }),
        }
        const [again] = await commitInTransaction(
          trx,
          [{ hook, version, record: refused, start: null }],
          [0],
          [],
        )
        if (again!.kind === 'stale') return 'stale'
      }
      await after(trx, record.id)
      return stored!.kind
    })
  })
}

const BUSY = 'The pipeline is busy, and its queue policy rejects further runs.'
