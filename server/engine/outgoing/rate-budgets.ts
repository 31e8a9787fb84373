import { sql } from 'kysely'
import { isBudgetPaused } from '#model/hooks/rate-budgets.ts'
import type { Database } from '#platform/database/connect.ts'
import type { OutgoingHook } from './outgoing-hooks.ts'
import type { RateLimit } from './read-limit.ts'

/** Requests with the token of one credential to one origin share a budget. */
export type Budget = { credentialId: number; origin: string }

/** `ms` null: the service named no end. */
export type Pause = Budget & { ms: number | null; reason: RateLimit['reason'] }

/** NOTIFY channel of pauses; the payload is a StoredPause. */
export const PAUSES_CHANNEL = 'rate_budgets'

export type StoredPause = Budget & { ms: number; isNamed: boolean }

const FIRST_UNNAMED_SECONDS = 60
const MAX_UNNAMED_SECONDS = 900

/**
 * From now on no process sends anything for these budgets. A pause in force is only made longer: answers to requests that
 * were sent before it began say nothing new.
 */
export async function storePauses(db: Database, pauses: readonly Pause[]): Promise<StoredPause[]> {
  if (pauses.length === 0) return []
  const rows = [...Map.groupBy(pauses, budgetKey).values()].map(longest)
  const unnamed = sql`now() + least(${MAX_UNNAMED_SECONDS}, ${FIRST_UNNAMED_SECONDS} * 2 ^ least(b.unnamed_pauses, 9))
    * interval '1 second'`
  const isNamed = sql`excluded.unnamed_pauses = 0`
  const isInForce = sql.raw(isBudgetPaused('b'))
  const { rows: stored } = await sql<StoredPause>`
    with stored as (
      insert into rate_budgets as b (credential_id, origin, paused_until, reason, unnamed_pauses)
      select g.credential_id, g.origin, now() + coalesce(g.ms, ${FIRST_UNNAMED_SECONDS * 1_000}::bigint) * interval '1 millisecond',
        g.reason, case when g.ms is null then 1 else 0 end
      from json_to_recordset(${JSON.stringify(rows)}::json) as g (credential_id bigint, origin text, ms bigint, reason text)
      order by g.credential_id, g.origin
      on conflict (credential_id, origin) do update set
        paused_until = case when ${isInForce} and not ${isNamed} then b.paused_until
          when ${isInForce} then greatest(b.paused_until, excluded.paused_until)
          when ${isNamed} then excluded.paused_until else ${unnamed} end,
        unnamed_pauses = case when ${isInForce} then b.unnamed_pauses
          when ${isNamed} then 0 else b.unnamed_pauses + 1 end,
        reason = excluded.reason
      returning credential_id as "credentialId", origin, unnamed_pauses = 0 as "isNamed",
        ceil(extract(epoch from paused_until - now()) * 1000)::int as ms
    ),
    notified as (select pg_notify(${PAUSES_CHANNEL}, row_to_json(stored)::text) from stored)
    select stored.* from stored, (select count(*) from notified) as n`.execute(db)
  return stored
}

function longest(pauses: readonly Pause[]) {
  const { credentialId: credential_id, origin, reason } = pauses[0]!
  const named = pauses.flatMap(({ ms }) => (ms === null ? [] : [Math.max(1, Math.ceil(ms))]))
  return { credential_id, origin, reason, ms: named.length === 0 ? null : Math.max(...named) }
}

/** A request has succeeded since: the next pause without a named end begins with the shortest one. */
export async function storeRecoveries(db: Database, budgets: readonly Budget[]): Promise<void> {
  if (budgets.length === 0) return
  await sql`
    update rate_budgets b set unnamed_pauses = 0
    from json_to_recordset(${JSON.stringify(budgets)}::json) as g ("credentialId" bigint, origin text)
    where b.credential_id = g."credentialId" and b.origin = g.origin and b.unnamed_pauses > 0
      and not ${sql.raw(isBudgetPaused('b'))}`.execute(db)
}

/** How many milliseconds the budget stays paused; null: it is not. */
export async function readPause(db: Database, { credentialId, origin }: Budget): Promise<number | null> {
  const { rows } = await sql<{ ms: number }>`
    select ceil(extract(epoch from b.paused_until - now()) * 1000)::int as ms from rate_budgets b
    where b.credential_id = ${credentialId} and b.origin = ${origin} and ${sql.raw(isBudgetPaused('b'))}`.execute(
    db,
  )
  return rows[0]?.ms ?? null
}

export const budgetKey = ({ credentialId, origin }: Budget) => `${credentialId} ${origin}`
export const hostOf = ({ origin }: Budget) => new URL(origin).host

/** What the requests of a hook count against, if known before they are rendered. */
export function budgetOfHook({ requests, credential }: OutgoingHook): Budget | null {
  if (!requests?.usesAccessToken || !credential) return null
  return { credentialId: credential.id, origin: requests.first.compiled.url.origin }
}

/** The pause that a limit asks for. */
export function pauseFor(budget: Budget, { until, reason }: RateLimit, now: Date): Pause {
  return { ...budget, ms: until && until.getTime() - now.getTime(), reason }
}
