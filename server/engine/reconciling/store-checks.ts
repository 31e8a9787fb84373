import { sql } from 'kysely'
import { recordAudit } from '#access/audit/record.ts'
import { deliverAgain } from '#model/events/fan-out.ts'
import type { Database } from '#platform/database/connect.ts'
import type { RemoteState } from '#platform/database/tables.ts'
import type { ClaimedCheck } from './claim-checks.ts'

type Finding = {
  remoteState: RemoteState
  /** What the service shows; null when that is not known. */
  remoteStatus: string | null
  detail: string | null
  /** Null: it is not checked again. */
  afterMs: number | null
}

const SERVICE = { userId: null, ipAddress: null, requestId: null }

const isOwned = ({ actionId, hookId, lease }: ClaimedCheck) =>
  sql`action_id = ${actionId} and hook_id = ${hookId} and leased_until = ${lease}::timestamptz`

const inMs = (ms: number | null) => sql`now() + ${ms}::float8 * interval '1 millisecond'`

/** A failed check does not replace what an earlier one has found. */
export async function storeFinding(db: Database, check: ClaimedCheck, finding: Finding): Promise<void> {
  const { remoteState, remoteStatus, detail, afterMs } = finding
  const isKept = sql`${remoteState} = 'unknown' and remote_state not in ('not_checked', 'unknown')`
  await sql`
    update status_checks set leased_until = null, due_at = ${inMs(afterMs)}, checks = checks + 1,
      remote_state = case when ${isKept} then remote_state else ${remoteState} end,
      remote_status = case when ${isKept} then remote_status else ${remoteStatus} end,
      remote_detail = case when ${isKept} then remote_detail else ${detail} end,
      checked_at = case when ${isKept} then checked_at else now() end
    where ${isOwned(check)}`.execute(db)
}

/** The check was not made, and is due later. */
export async function postponeCheck(
  db: Database,
  check: ClaimedCheck,
  afterMs: number | null,
): Promise<void> {
  await sql`update status_checks set leased_until = null, due_at = ${inMs(afterMs)}
    where ${isOwned(check)}`.execute(db)
}

/** The status of a newer action of the same repository, commit and context is hidden: it is checked now. */
export async function checkNewer(db: Database, { sent, newerActionId }: ClaimedCheck): Promise<void> {
  await sql`update status_checks set due_at = now()
    where url = ${sent.url} and context = ${sent.context} and action_id = ${newerActionId}
      and (due_at is null or due_at > now())`.execute(db)
}

/**
 * Sends the last delivery of an action again. Its attempts are recorded as such, and its end plans the next check. False
 * when it is being sent anyway, or the hook was disabled in the meantime.
 */
export function repair(
  db: Database,
  check: ClaimedCheck,
  shown: { status: string | null; detail: string },
): Promise<boolean> {
  return db.transaction().execute(async (trx) => {
    const { hookId, eventId, actionId, repairs } = check
    const { context, state } = check.sent
    // In the order in which attempts are stored: the delivery first.
    const { rows: deliveries } = await sql<{ state: string; hook: string; organizationId: number }>`
      select d.state, h.name as hook, p.organization_id as "organizationId"
      from deliveries d join hooks h on h.id = d.hook_id and h.active and h.deleted_at is null
      join environments e on e.id = h.environment_id join projects p on p.id = e.project_id
      where d.hook_id = ${hookId} and d.event_id = ${eventId} for update of d`.execute(trx)
    const delivery = deliveries.find(({ state }) => state === 'delivered')
    const { rows } = await sql`
      update status_checks set leased_until = null, due_at = null, checks = checks + 1,
        repairs = repairs + ${delivery ? 1 : 0}::int, remote_state = 'not_checked', remote_status = ${shown.status},
        remote_detail = ${shown.detail}, checked_at = now()
      where ${isOwned(check)} returning hook_id`.execute(trx)
    if (!delivery || rows.length === 0) return false
    await deliverAgain(trx, check, { dueAt: sql`now()`, askedBy: null })
    await recordAudit(trx, SERVICE, {
      organizationId: delivery.organizationId,
      verb: 'repaired',
      subject: { type: 'outgoing_hook', id: hookId, name: delivery.hook },
      before: { action_id: actionId, context, status: shown.status },
      after: { action_id: actionId, context, status: state, repairs: repairs + 1 },
    })
    return true
  })
}
