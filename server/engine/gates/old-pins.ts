import { sql } from 'kysely'
import type { Repositories } from '#adapters/repositories/repositories.ts'
import type { Database } from '#platform/database/connect.ts'

/** Listing the commits that a mirror keeps takes as long as there are many: not for every run. */
const EVERY_MS = 600_000

export type RemoveOldPins = (applicationId: number, signal: AbortSignal) => Promise<void>

/** Lets go of the commits of runs that have ended, or were removed: now and then, while their mirror is in use. */
export function createRemoveOldPins(
  { db, repositories }: { db: Database; repositories: Repositories },
  now = () => performance.now(),
): RemoveOldPins {
  const removedAt = new Map<number, number>()
  return async (applicationId, signal) => {
    const last = removedAt.get(applicationId)
    if (last !== undefined && now() - last < EVERY_MS) return
    removedAt.set(applicationId, now())
    const pinned = await repositories.pinned({ applicationId, signal })
    const { rows } = await sql<{ id: number }>`
      select id from actions where id = any(${pinned}::bigint[]) and completed_at is null`.execute(db)
    const kept = new Set(rows.map(({ id }) => id))
    const actionIds = pinned.filter((id) => !kept.has(id))
    await repositories.unpin({ applicationId, actionIds, signal })
  }
}
