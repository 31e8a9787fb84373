import { LRUCache } from 'lru-cache'
import { networkOf } from '#access/accounts/networks.ts'
import { type Actor, recordAudit } from '#access/audit/record.ts'
import type { Database } from '#platform/database/connect.ts'
import type { Refused } from './sign-in.ts'

const WINDOW_MS = 15 * 60 * 1_000
const MAX_RECORDED = 50
const MAX_NETWORKS = 10_000

/**
 * Records failed sign-ins in the audit log: only so many from one network in a while, because anybody can cause them
 * and entries stay forever.
 */
export function createFailureRecorder(db: Database) {
  const recorded = new LRUCache<string, { count: number }>({ max: MAX_NETWORKS, ttl: WINDOW_MS })

  return async (actor: Actor, { reason, account }: Pick<Refused, 'reason' | 'account'>): Promise<void> => {
    const network = networkOf(actor.ipAddress ?? '')
    const counter = recorded.get(network) ?? { count: 0 }
    if (counter.count === 0) recorded.set(network, counter)
    counter.count += 1
    if (counter.count > MAX_RECORDED) return
    await db.transaction().execute((trx) =>
      recordAudit(trx, actor, {
        organizationId: null,
        verb: 'sign_in_failed',
        subject: { type: 'user', id: account?.id ?? 'unknown', name: account?.email ?? 'unknown' },
        before: null,
        after: { method: 'oidc', reason },
      }),
    )
  }
}
