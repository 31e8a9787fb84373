// The first stage of a delivery: which hooks have due ones, and how many of them this process claims.
import { sql } from 'kysely'
import { countsAgainst, isBudgetPaused, wasBudgetPaused } from '#model/hooks/rate-budgets.ts'
import type { Database } from '#platform/database/connect.ts'
import { createSignal } from '#platform/queue/signal.ts'
import { hooksWithMore } from './capacity.ts'
import { type ClaimedDelivery, claimDeliveries, IS_DUE, isFree } from './claim-deliveries.ts'
import type { Budget } from './rate-budgets.ts'
import { type StageDeps, tolerate } from './stage.ts'

/** While it is paused, it claims nothing. */
export type ClaimOptions = StageDeps & { isPaused?: () => boolean }

/** Claims due deliveries while there is capacity for them. */
export function createClaims(options: ClaimOptions) {
  const { db, capacity } = options
  /** Hooks that may have due deliveries. */
  const hooks = new Set<string>()
  const mayClaim = createSignal()

  function addHooks(hookIds: Iterable<string>): void {
    for (const id of hookIds) hooks.add(id)
    mayClaim.notify()
  }

  return {
    addHooks,
    wakeUp: mayClaim.notify,
    /** Finds due deliveries that no notification announced: retries, and those of dead processes. */
    async poll(): Promise<void> {
      const found = await tolerate(options, 'find due deliveries', () => findHooksWithWork(db), [])
      for (const { id, budget } of found) if (budget) capacity.learnBudget(id, budget)
      addHooks(found.map(({ id }) => id))
    },
    /** None, if there was nothing to claim and something may have changed since. */
    async next(): Promise<ClaimedDelivery[]> {
      const shares = capacity.share(options.isPaused?.() ? [] : hooks)
      if (shares.slots.size === 0) {
        await mayClaim.wait()
        return []
      }
      // A hook that is notified during the claim is added again.
      for (const id of shares.slots.keys()) hooks.delete(id)
      const { slots, budgetSlots } = shares
      const claim = () => claimDeliveries(db, slots, budgetSlots)
      const claimed = await tolerate(options, 'claim deliveries', claim, [])
      for (const id of hooksWithMore(shares, claimed)) hooks.add(id)
      for (const delivery of claimed) capacity.start(delivery)
      return claimed
    },
  }
}

/** `budget`: known only if it was paused lately. */
type HookWithWork = { id: string; budget: Budget | null }

/**
 * The hooks that have due deliveries. Pending deliveries of disabled or removed hooks become `missed`: they can be
 * redelivered, but are not all sent when the hook is enabled again. Those with an attempt in progress are left alone.
 */
async function findHooksWithWork(db: Database): Promise<HookWithWork[]> {
  const { rows } = await sql<HookWithWork & { is_active: boolean; is_due: boolean }>`
    with recursive waiting as (
      (select hook_id from deliveries where state = 'pending' order by hook_id limit 1)
      union all
      select (select d.hook_id from deliveries d where d.state = 'pending' and d.hook_id > waiting.hook_id
        order by d.hook_id limit 1)
      from waiting where waiting.hook_id is not null
    )
    select waiting.hook_id as id, hooks.active and hooks.deleted_at is null as is_active,
      coalesce(health.open_until <= now(), true) and exists (
        select from deliveries d where d.hook_id = waiting.hook_id and ${sql.raw(IS_DUE)})
      and paused.is_paused is not true as is_due, paused.budget
    from waiting join hooks on hooks.id = waiting.hook_id
    left join hook_health health on health.hook_id = waiting.hook_id
    left join lateral (
      select json_build_object('credentialId', b.credential_id, 'origin', b.origin) as budget,
        ${sql.raw(isBudgetPaused('b'))} as is_paused from rate_budgets b
      where ${sql.raw(wasBudgetPaused('b'))} and ${sql.raw(countsAgainst('hooks', 'b'))}
      order by b.paused_until desc limit 1) as paused on true`.execute(db)
  const disabled = rows.filter((row) => !row.is_active).map(({ id }) => id)
  if (disabled.length > 0) await markMissed(db, disabled)
  return rows.filter((row) => row.is_active && row.is_due)
}

async function markMissed(db: Database, hookIds: string[]): Promise<void> {
  await sql`
    with missed as (
      update deliveries d set state = 'missed', leased_until = null from hooks
      where d.hook_id = any(${hookIds}::uuid[]) and d.state = 'pending' and hooks.id = d.hook_id
        and ${sql.raw(isFree('d'))} and not (hooks.active and hooks.deleted_at is null)
      returning d.last_request_id
    )
    update hook_requests set next_attempt_at = null, updated_at = now()
    where id in (select last_request_id from missed)`.execute(db)
}
