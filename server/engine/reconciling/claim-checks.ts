import { sql } from 'kysely'
import type { SentStatus } from '#model/hooks/sent-status.ts'
import type { Database } from '#platform/database/connect.ts'

/** Longer than a check takes. After this, another process takes over those of a process that died. */
const LEASE_MS = 60_000
/** As many as are read one after the other within the lease. */
const MAX_CLAIMED = 20

export type ClaimedCheck = {
  actionId: number
  hookId: string
  eventId: number
  credentialId: number
  sent: SentStatus
  /** The requests of one credential to one origin share a budget. */
  origin: string
  checks: number
  repairs: number
  /** How long ago it was sent. */
  ageMs: number
  /** Identifies the claim: what is written counts only while it is the newest. */
  lease: string
  /** On this process's monotonic clock. */
  ownedUntil: number
  newerActionId: number | null
  /** The hook is enabled, and still sets such statuses. */
  isCurrent: boolean
}

/** Claims statuses that are due to be read back, oldest first, but for those of credentials that are busy. */
export async function claimChecks(db: Database, busyCredentials: readonly number[]): Promise<ClaimedCheck[]> {
  const ownedUntil = performance.now() + LEASE_MS
  const { rows } = await sql<Omit<ClaimedCheck, 'sent' | 'origin' | 'ownedUntil'> & SentStatus>`
    with due as (
      select action_id, hook_id from status_checks
      where due_at <= now() and (leased_until is null or leased_until < now())
        and credential_id <> all(${busyCredentials}::bigint[])
      order by due_at limit ${MAX_CLAIMED}::int
      for update skip locked
    ),
    claimed as (
      update status_checks c set leased_until = now() + ${LEASE_MS}::float8 * interval '1 millisecond' from due
      where c.action_id = due.action_id and c.hook_id = due.hook_id
      returning c.*
    )
    select c.action_id as "actionId", c.hook_id as "hookId", c.event_id as "eventId", c.credential_id as "credentialId",
      c.kind, c.url, c.context, c.state, c.link, c.checks, c.repairs,
      (extract(epoch from now() - c.sent_at) * 1000)::float8 as "ageMs", c.leased_until::text as lease,
      (select max(n.action_id) from status_checks n
        where n.url = c.url and n.context = c.context and n.action_id > c.action_id) as "newerActionId",
      h.active and h.deleted_at is null and h.settings -> 'preset' ->> 'kind' is not distinct from c.kind as "isCurrent"
    from claimed c join hooks h on h.id = c.hook_id
    order by c.due_at`.execute(db)
  return rows.map(({ kind, url, context, state, link, ...row }) => ({
    ...row,
    sent: { kind, url, context, state, link },
    origin: new URL(url).origin,
    ownedUntil,
  }))
}
