// Which hooks a rate budget pauses. Rows of rate_budgets are few, and usually none: what is read about hooks hangs on them.
import { sql } from 'kysely'
import type { Database } from '#platform/database/connect.ts'

/** Longer ones are from before the clock was set back, and do not count. */
const LONGEST = `interval '61 minutes'`

/** The budget `b` allows no request now. */
export const isBudgetPaused = (b: string) =>
  `(${b}.paused_until > now() and ${b}.paused_until < now() + ${LONGEST})`

/** It does, or did so in the last hour: what waits for it is sent final deliveries first. */
export const wasBudgetPaused = (b: string) =>
  `(${b}.paused_until > now() - ${LONGEST} and ${b}.paused_until < now() + ${LONGEST})`

/** Scheme, host and port of a URL, which contain no template, as `URL.origin` writes them. */
const originOf = (url: string) => `regexp_replace(lower(substring(${url} from '^[A-Za-z]+://[^/?#]*')),
  '^(http://.*):80$|^(https://.*):443$', '\\1\\2')`

/** The hook `h` sends the token of the credential of the budget `b` to its origin. */
export const countsAgainst = (h: string, b: string) => `(
  ${b}.origin in (${originOf(`${h}.target_url`)}, ${originOf(`(${h}.settings #>> '{requests,update,target_url}')`)})
  and (${h}.settings -> 'preset' is not null or ${h}.target_url || ${h}.settings::text like '%access_token%')
  and ${b}.credential_id = coalesce(
    case when ${h}.settings -> 'preset' is not null or ${h}.target_url || ${h}.settings::text ~ 'credential\\W+access_token'
      then ${h}.credential_id end,
    (select app.credential_id from pipelines p join applications app on app.id = p.application_id
      where p.id = ${h}.pipeline_id)))`

export type HookPause = { paused_until: string; reason: string; origin: string }

/** The pauses that hooks wait for now, by the id of the hook. */
export async function loadPauses(db: Database, hookIds: readonly string[]): Promise<Map<string, HookPause>> {
  if (hookIds.length === 0) return new Map()
  const { rows } = await sql<HookPause & { hook_id: string }>`
    select distinct on (hook.id) hook.id as hook_id, b.paused_until, b.reason, b.origin
    from rate_budgets b cross join lateral (
      select h.id from hooks h where h.id = any(${hookIds}::uuid[]) and ${sql.raw(countsAgainst('h', 'b'))} offset 0
    ) as hook
    where ${sql.raw(isBudgetPaused('b'))}
    order by hook.id, b.paused_until desc`.execute(db)
  return new Map(rows.map(({ hook_id, ...pause }) => [hook_id, pause]))
}

/** The common table expression `held`, for statements about all deliveries: hooks whose budget is or was paused. */
export const HELD = `held as materialized (
  select hook.id as hook_id, b.origin, b.paused_until, ${isBudgetPaused('b')} as is_paused
  from rate_budgets b cross join lateral (
    select h.id from hooks h where h.type = 'outgoing' and h.active and ${countsAgainst('h', 'b')} offset 0
  ) as hook
  where ${wasBudgetPaused('b')})`

/** Beside `held`: the delivery `d` is not late, it was held up by such a pause. */
export const isHeld = (d: string) =>
  `exists (select from held where held.hook_id = ${d}.hook_id and ${d}.due_at < held.paused_until)`
