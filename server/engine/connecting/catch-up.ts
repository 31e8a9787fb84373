// What a connected hook missed while Gantry, its database or its network was away. After each check, the host is asked to
// deliver again what it could not deliver (missed-deliveries); then each branch is compared with the newest call for it
// (missed-pushes). Everything between two requests is stored, so that another process can continue at any point.
import type { Database } from '#platform/database/connect.ts'
import type { ClaimedConnection } from './claim.ts'
import type { CaughtUp, Contact, Stop } from './contact.ts'
import { catchUpDeliveries } from './missed-deliveries.ts'
import { catchUpPushes, type PushDeps } from './missed-pushes.ts'
import type { ConnectedSubject } from './subject.ts'

export type CatchUpDeps = PushDeps & { db: Database; signal: AbortSignal }

export async function catchUp(
  deps: CatchUpDeps,
  claimed: ClaimedConnection,
  contact: Contact,
  subject: ConnectedSubject,
  webhookId: string,
): Promise<CaughtUp | Stop> {
  const deliveries = await catchUpDeliveries(deps.db, claimed, contact, webhookId)
  if (deliveries.kind !== 'caught-up') return deliveries
  const pushes = await catchUpPushes(deps, claimed, contact, subject)
  if (pushes.kind !== 'caught-up') return pushes
  const soonest = [deliveries.againMs, pushes.againMs].filter((ms) => ms !== null)
  return { kind: 'caught-up', againMs: soonest.length > 0 ? Math.min(...soonest) : null }
}
