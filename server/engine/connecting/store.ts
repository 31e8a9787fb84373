import { sql } from 'kysely'
import { recordAudit } from '#access/audit/record.ts'
import type { Finding } from '#model/connections/judge.ts'
import type { Database, Transaction } from '#platform/database/connect.ts'
import { type ClaimedConnection, type ClaimedRemoval, isOwned } from './claim.ts'

const SERVICE = { userId: null, ipAddress: null, requestId: null }
const inMs = (ms: number) => sql`now() + ${ms}::float8 * interval '1 millisecond'`

/** A host may be slow to use a new secret, and calls with the old one are under way. */
const LAST_CALLS = sql`interval '5 minutes'`

export type Result = {
  finding: Finding
  /** What was to be done is done; what was requested meanwhile is not. */
  isDone: boolean
  failures: number
  hasOtherSecret: boolean
  /** Sealed. */
  sentSecret?: Buffer
  credentialId: number
  afterMs: number
}

/** Nothing is stored when the claim was lost. */
export function storeResult(db: Database, claim: ClaimedConnection, result: Result): Promise<void> {
  const { finding, isDone, failures, hasOtherSecret, credentialId, afterMs, sentSecret } = result
  const isCurrent = sql`version = ${claim.version}::int`
  return db.transaction().execute(async (trx) => {
    const { rows } = await sql<{ is_current: boolean; overlap: number | null }>`
      update hook_connections set leased_until = null, checked_at = now(), webhook_id = ${finding.webhookId},
        disabled_until = ${finding.disabledUntil}::timestamptz, failures = ${failures}::int,
        has_other_secret = ${hasOtherSecret}, credential_id = ${credentialId},
        state_since = case when ${isCurrent} and state <> ${finding.state} then now() else state_since end,
        state = case when ${isCurrent} then ${finding.state} else state end,
        problem = case when ${isCurrent} then ${finding.problem} else problem end,
        replaced = case when ${isDone} then null else replaced end,
        task = case when ${isCurrent} and ${isDone} then 'check' else task end,
        due_at = case when ${isCurrent} then ${inMs(afterMs)} else now() end
      where ${isOwned(claim)} returning ${isCurrent} as is_current, overlap_seconds as overlap`.execute(trx)
    const [row] = rows
    if (!row || !isDone || claim.task === 'check' || row.overlap === null) return
    // Another one was made meanwhile: until the host has that, it signs with the one that it was just sent.
    if (!row.is_current) {
      await sql`
        update hooks set previous_secret = ${sentSecret} where id = ${claim.hookId} and previous_secret is not null
          and secret <> ${sentSecret}`.execute(trx)
      return
    }
    await sql`update hook_connections set overlap_seconds = null where hook_id = ${claim.hookId}`.execute(trx)
    await sql`
      update hooks set previous_secret_until = greatest(updated_at + ${row.overlap}::int * interval '1 second',
        now() + ${LAST_CALLS})
      where id = ${claim.hookId} and previous_secret is not null`.execute(trx)
  })
}

/** Before a webhook is removed to be created again. False: the claim was lost. */
export async function storeReplaced(
  db: Database,
  claim: ClaimedConnection | ClaimedRemoval,
  sealed: Buffer,
): Promise<boolean> {
  if ('id' in claim) return false
  const { numAffectedRows } = await sql`
    update hook_connections set replaced = ${sealed} where ${isOwned(claim)}`.execute(db)
  return (numAffectedRows ?? 0n) > 0n
}

/** Nothing was asked: later. While it is being connected, it says why. */
export async function postpone(
  db: Database,
  claim: ClaimedConnection,
  afterMs: number,
  reason: string | null,
): Promise<void> {
  await sql`
    update hook_connections set leased_until = null, due_at = ${inMs(afterMs)},
      problem = case when state = 'connecting' then coalesce(${reason}, problem) else problem end
    where ${isOwned(claim)}`.execute(db)
}

export function endRemoval(db: Database, claim: ClaimedRemoval): Promise<void> {
  return db.transaction().execute(async (trx) => {
    await sql`delete from webhook_removals where ${isOwned(claim)}`.execute(trx)
    await forgetSecret(trx, claim)
  })
}

/** Of a credential that was removed with its organization, and was kept to remove webhooks. */
async function forgetSecret(trx: Transaction, { credentialId }: ClaimedRemoval): Promise<void> {
  await sql`
    update credentials set secret = null where id = ${credentialId} and deleted_at is not null and secret is not null
      and not exists (select from webhook_removals where credential_id = ${credentialId})`.execute(trx)
}

/** Whether the hook is connected to another repository at the same host by now. */
export async function isConnectedAt(db: Database, { hookId, apiUrl }: ClaimedRemoval): Promise<boolean> {
  const { rows } = await sql`
    select from hook_connections where hook_id = ${hookId} and api_url = ${apiUrl} and state = 'connected'`.execute(
    db,
  )
  return rows.length > 0
}

export async function retryRemoval(
  db: Database,
  claim: ClaimedRemoval,
  retry: { afterMs: number; failures: number; problem: string | null },
): Promise<void> {
  await sql`
    update webhook_removals set leased_until = null, due_at = ${inMs(retry.afterMs)}, failures = ${retry.failures}::int,
      problem = coalesce(${retry.problem}, problem)
    where ${isOwned(claim)}`.execute(db)
}

/** The host refused for too long: the audit log says what stays there. */
export function giveUpRemoval(
  db: Database,
  claim: ClaimedRemoval,
  problem: string,
  settingsUrl: string | null,
): Promise<void> {
  const { provider, repository, webhookId, hookId } = claim
  return db.transaction().execute(async (trx) => {
    const { rows } = await sql<{ organization_id: number; name: string }>`
      select o.organization_id, h.name from hooks h join environments e on e.id = h.environment_id
      join projects o on o.id = e.project_id where h.id = ${hookId}`.execute(trx)
    const { numAffectedRows } = await sql`delete from webhook_removals where ${isOwned(claim)}`.execute(trx)
    await forgetSecret(trx, claim)
    if ((numAffectedRows ?? 0n) === 0n || !rows[0]) return
    await recordAudit(trx, SERVICE, {
      organizationId: rows[0].organization_id,
      verb: 'webhook left behind',
      subject: { type: 'incoming_hook', id: hookId, name: rows[0].name },
      before: { provider, repository, webhook_id: webhookId, settings_url: settingsUrl },
      after: { problem },
    })
  })
}
