import { sql } from 'kysely'
import type { Database, Transaction } from '#platform/database/connect.ts'
import { HOSTS, type HostProvider } from './hosts.ts'
import type { ConnectionState } from './judge.ts'
import type { HostedRepository } from './locate-repository.ts'
import type { HookConnection } from './schema.ts'

export type NewConnection = {
  hookId: string
  userId: number
  credentialId: number
  repository: HostedRepository
  events: readonly string[]
}

/** How long a worker may take for what it has begun. */
const LEASE = sql`interval '1 minute'`

/**
 * Connects a hook, or repairs its connection: a worker does the rest. A removal that has not begun is no longer needed, unless
 * the repository is another one now: then the webhook of the old one is removed.
 */
export async function storeConnection(trx: Transaction, connection: NewConnection): Promise<void> {
  const { hookId, userId, credentialId, repository, events } = connection
  const { provider, apiUrl, homeUrl, path } = repository
  const isElsewhere = sql`(c.api_url, c.repository) is distinct from (${apiUrl}, ${path})`
  await endOverlap(trx, hookId, isElsewhere)
  // What its removal would do as a row of its own: the trigger stores it.
  await sql`delete from hook_connections c where c.hook_id = ${hookId} and ${isElsewhere}`.execute(trx)
  // A removal that waited for a worker to end its request tells how long to wait for it.
  await sql`
    with needless as (
      delete from webhook_removals where hook_id = ${hookId} and api_url = ${apiUrl} and repository = ${path}
        and (leased_until is null or leased_until < now()) returning due_at
    )
    insert into hook_connections as c (hook_id, user_id, credential_id, provider, api_url, home_url, repository, events, due_at)
    select ${hookId}::uuid, ${userId}::bigint, ${credentialId}::bigint, ${provider}, ${apiUrl}, ${homeUrl}, ${path},
      ${[...events]}::text[], least(greatest(now(), max(due_at)), now() + ${LEASE}) from needless
    on conflict (hook_id) do update set user_id = excluded.user_id, credential_id = excluded.credential_id,
      home_url = excluded.home_url, events = excluded.events, state = 'connecting', state_since = now(), problem = null, task = 'connect',
      version = c.version + 1, failures = 0, due_at = now()`.execute(trx)
}

/** The host must learn a secret that was just stored. `overlapSeconds` null: the previous one no longer counts. */
export async function sendSecret(
  trx: Transaction,
  hookId: string,
  overlapSeconds: number | null,
): Promise<boolean> {
  const { numAffectedRows } = await sql`
    update hook_connections set task = case task when 'connect' then task else 'rotate' end, version = version + 1,
      overlap_seconds = ${overlapSeconds}, failures = 0, due_at = now()
    where hook_id = ${hookId}`.execute(trx)
  return (numAffectedRows ?? 0n) > 0n
}

/** Whether the host has yet to confirm the secret of the last rotation. */
export async function awaitsSecret(trx: Transaction, hookId: string): Promise<boolean> {
  const { rows } = await sql`
    select from hook_connections where hook_id = ${hookId} and overlap_seconds is not null`.execute(trx)
  return rows.length > 0
}

/** True: a check is due now. */
export async function requestCheck(trx: Transaction, hookId: string): Promise<boolean> {
  const { numAffectedRows } = await sql`
    update hook_connections set failures = 0, due_at = now() where hook_id = ${hookId}`.execute(trx)
  return (numAffectedRows ?? 0n) > 0n
}

/** Gantry was away, or its database: what was missed is caught up with. Many connections are not checked in the same second. */
export async function requestChecks(db: Database): Promise<void> {
  await sql`
    update hook_connections set due_at = least(due_at, now() + random() * spread.span)
    from (select least(count(*) * interval '50 milliseconds', interval '1 minute') as span from hook_connections) as spread`.execute(
    db,
  )
}

/** A secret that the host had yet to replace is valid for as long as its rotation said, now that no one replaces it. */
async function endOverlap(trx: Transaction, hookId: string, where = sql`true`): Promise<void> {
  await sql`
    update hooks h set previous_secret_until =
      least(h.previous_secret_until, now() + c.overlap_seconds * interval '1 second')
    from hook_connections c where c.hook_id = h.id and h.id = ${hookId} and c.overlap_seconds is not null
      and h.previous_secret is not null and ${where}`.execute(trx)
}

/** Removes the webhook as well, on behalf of `userId`, if that is given. */
export async function removeConnection(
  trx: Transaction,
  hookId: string,
  userId: number | null,
): Promise<boolean> {
  await endOverlap(trx, hookId)
  if (userId !== null)
    await sql`update hook_connections set user_id = ${userId} where hook_id = ${hookId}`.execute(trx)
  const { numAffectedRows } = await sql`delete from hook_connections where hook_id = ${hookId}`.execute(trx)
  return (numAffectedRows ?? 0n) > 0n
}

/**
 * Credentials that are removed with their organization are still needed to remove its webhooks, and the people who connected them
 * have no permissions left. The last removal of a webhook forgets the secret (engine/connecting/store.ts).
 */
export async function keepForWebhooks(trx: Transaction, credentialIds: readonly number[]): Promise<void> {
  await sql`
    update webhook_removals set is_authorized = true where credential_id = any(${[...credentialIds]}::bigint[])`.execute(
    trx,
  )
}

type StoredConnection = {
  hook_id: string
  state: ConnectionState
  provider: HostProvider
  home_url: string
  repository: string
  events: string[]
  webhook_id: string | null
  problem: string | null
  checked_at: string | null
  last_delivery_at: string | null
  disabled_until: string | null
}

/** How many of the newest calls are examined for the last one that the host sent. */
const RECENT = 50

/** The connections of hooks, by the id of the hook. Rejected calls, replays and what Gantry found by itself are no deliveries. */
export async function loadConnections(
  db: Database,
  hookIds: readonly string[],
): Promise<Map<string, HookConnection>> {
  if (hookIds.length === 0) return new Map()
  const { rows } = await sql<StoredConnection>`
    select c.hook_id, c.state, c.provider, c.home_url, c.repository, c.events, c.webhook_id, c.problem, c.checked_at,
      c.disabled_until, last.created_at as last_delivery_at
    from hook_connections c
    left join lateral (
      select r.created_at from (
        select * from hook_requests r where r.hook_id = c.hook_id order by r.id desc limit ${RECENT}::int
      ) as r
      where r.outcome not in ('rejected_signature', 'rate_limited') and r.retry_of is null and r.ip_address is not null
      order by r.id desc limit 1
    ) as last on true
    where c.hook_id = any(${hookIds}::uuid[])`.execute(db)
  return new Map(
    rows.map(({ hook_id, home_url, webhook_id, ...row }) => [
      hook_id,
      {
        ...row,
        settings_url: webhook_id && HOSTS[row.provider].settingsUrl(home_url, row.repository, webhook_id),
      },
    ]),
  )
}
