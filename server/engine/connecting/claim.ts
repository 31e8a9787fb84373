import { sql } from 'kysely'
import type { HostProvider } from '#model/connections/hosts.ts'
import type { ConnectionState } from '#model/connections/judge.ts'
import type { Database } from '#platform/database/connect.ts'
import type { ConnectionTask } from '#platform/database/tables.ts'

/** Longer than any request takes. After this, another process continues the work of one that died. */
const LEASE_MS = 60_000
const MAX_CLAIMED = 20

/** The webhook of a hook, claimed by this process for as long as its lease lasts. */
export type Claim = {
  hookId: string
  userId: number
  credentialId: number
  provider: HostProvider
  apiUrl: string
  homeUrl: string
  repository: string
  webhookId: string | null
  failures: number
  /** Identifies the claim: what is done counts only while it is the newest. Changes with every `hold`. */
  lease: string
}

export type ClaimedConnection = Claim & {
  events: string[]
  state: ConnectionState
  task: ConnectionTask
  version: number
  checkedAt: string | null
  rejectedAt: string | null
  hasOtherSecret: boolean
  replaced: Buffer | null
}

export type ClaimedRemoval = Claim & {
  id: number
  tokenHash: Buffer | null
  ageMs: number
  /** By the person who removed the organization. */
  isAuthorized: boolean
}

const COLUMNS = sql`t.hook_id as "hookId", t.user_id as "userId", t.credential_id as "credentialId", t.provider,
  t.api_url as "apiUrl", t.home_url as "homeUrl", t.repository, t.webhook_id as "webhookId", t.failures,
  t.leased_until::text as lease`

const IS_DUE = sql`t.due_at <= now() and (t.leased_until is null or t.leased_until < now())`
const LEASE = sql`now() + ${LEASE_MS}::float8 * interval '1 millisecond'`

/** Connections that are due, oldest first. One whose webhook is just being removed waits for that. */
export async function claimConnections(
  db: Database,
  busyCredentials: readonly number[],
): Promise<ClaimedConnection[]> {
  const { rows } = await sql<ClaimedConnection>`
    with due as (
      select t.hook_id from hook_connections t
      where ${IS_DUE} and t.credential_id <> all(${busyCredentials}::bigint[])
        and not exists (select from webhook_removals r where r.hook_id = t.hook_id and r.leased_until >= now())
      order by t.due_at limit ${MAX_CLAIMED}::int for update skip locked
    )
    update hook_connections t set leased_until = ${LEASE} from due where t.hook_id = due.hook_id
    returning ${COLUMNS}, t.events, t.state, t.task, t.version, t.checked_at as "checkedAt",
      t.rejected_at as "rejectedAt",
      t.has_other_secret as "hasOtherSecret", t.replaced`.execute(db)
  return rows
}

/** Webhooks that are due to be removed, but for those that a hook has adopted again, by another name of its repository. */
export async function claimRemovals(
  db: Database,
  busyCredentials: readonly number[],
): Promise<ClaimedRemoval[]> {
  await sql`
    delete from webhook_removals t using hook_connections c
    where ${IS_DUE} and c.hook_id = t.hook_id and c.api_url = t.api_url and c.webhook_id = t.webhook_id`.execute(
    db,
  )
  const { rows } = await sql<ClaimedRemoval>`
    with due as (
      select t.id from webhook_removals t
      where ${IS_DUE} and t.credential_id <> all(${busyCredentials}::bigint[])
      order by t.due_at limit ${MAX_CLAIMED}::int for update skip locked
    )
    update webhook_removals t set leased_until = ${LEASE} from due where t.id = due.id
    returning ${COLUMNS}, t.id, t.url_token_hash as "tokenHash", t.is_authorized as "isAuthorized",
      (extract(epoch from now() - t.created_at) * 1000)::float8 as "ageMs"`.execute(db)
  return rows
}

/** The row of a claim, while that is the newest. */
export function isOwned(claim: ClaimedConnection | ClaimedRemoval) {
  const row = 'id' in claim ? sql`id = ${claim.id}` : sql`hook_id = ${claim.hookId}`
  return sql`${row} and leased_until = ${claim.lease}::timestamptz`
}

/**
 * Extends a lease before the next request. False: another process has taken over, or the hook was removed or disconnected.
 * Without this, a process that was suspended could create a second webhook.
 */
export async function hold(db: Database, claim: ClaimedConnection | ClaimedRemoval): Promise<boolean> {
  const table = 'id' in claim ? sql`webhook_removals` : sql`hook_connections`
  const { rows } = await sql<{ lease: string }>`
    update ${table} set leased_until = ${LEASE} where ${isOwned(claim)} returning leased_until::text as lease`.execute(
    db,
  )
  const [row] = rows
  if (row) claim.lease = row.lease
  return row !== undefined
}
