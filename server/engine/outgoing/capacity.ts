import { LRUCache } from 'lru-cache'
import type { AttemptedDelivery } from './attempt-delivery.ts'
import type { BudgetLimiter } from './budget-limiter.ts'
import type { ClaimedDelivery } from './claim-deliveries.ts'
import { type ConcurrencyLimiter, createConcurrencyLimiter } from './concurrency-limiter.ts'
import { type Budget, budgetKey } from './rate-budgets.ts'

/** Deliveries of one process that are in flight, or whose result is not stored yet. */
const MAX_UNSTORED = 1_024
const MAX_HOOKS = 10_000

/**
 * How many deliveries may be in flight: of this process, to each receiver, and within each rate budget. A delivery counts for
 * this process until it is stored (`stored`), for its budget until its response (`finish`), and for its receiver until its
 * response or, after a failure, until the receiver's health is stored (`release`).
 */
export function createCapacity(budgets: BudgetLimiter) {
  const limiter = createConcurrencyLimiter()
  /** Of hooks that send a token, once they are loaded. */
  const budgetsOfHooks = new LRUCache<string, Budget>({ max: MAX_HOOKS })
  const budgeted = new Map<ClaimedDelivery, Budget>()
  let unstored = 0
  const budgetOf = (hookId: string) => budgetsOfHooks.get(hookId)

  return {
    isIdle: () => unstored === 0,
    learnBudget(hookId: string, budget: Budget | null): void {
      if (budget) budgetsOfHooks.set(hookId, budget)
      else budgetsOfHooks.delete(hookId)
    },
    share: (hookIds: Iterable<string>) =>
      shareCapacity(hookIds, MAX_UNSTORED - unstored, { limiter, budgets, budgetOf }),
    start(delivery: ClaimedDelivery): void {
      unstored += 1
      limiter.start(delivery.hookId)
      startWithin(budgetOf(delivery.hookId), delivery)
    },
    /** Whether a delivery that was claimed before its budget was known may be sent. */
    admits(delivery: ClaimedDelivery): boolean {
      const budget = budgetOf(delivery.hookId)
      if (!budget || budgeted.has(delivery)) return true
      const isAdmitted = budgets.available(budget) > 0
      if (isAdmitted) startWithin(budget, delivery)
      return isAdmitted
    },
    /** Returns the budget whose pause, which had no named end, is over with this attempt; null for nearly all. */
    finish(attempted: AttemptedDelivery): Budget | null {
      const { delivery, next } = attempted
      if (hasSucceeded(attempted)) {
        if (attempted.kind === 'sent') limiter.succeeded(delivery.hookId, attempted.record.duration_ms ?? 0)
        else limiter.released(delivery.hookId)
      }
      const budget = budgeted.get(delivery)
      if (!budget) return null
      budgeted.delete(delivery)
      const isAccepted = next.kind === 'delivered' || next.kind === 'continued'
      budgets.finish(budget, isAccepted)
      return isAccepted && budgets.noteSuccess(budget, delivery.claimedAt) ? budget : null
    },
    stored(count: number): void {
      unstored -= count
    },
    /** A failed attempt holds its slot until its health is stored: the next one might be one too many. */
    release(attempted: AttemptedDelivery): void {
      if (hasSucceeded(attempted)) return
      const { kind, next, delivery } = attempted
      if (kind === 'sent' && next.kind !== 'paused') limiter.failed(delivery.hookId)
      else limiter.released(delivery.hookId)
    },
  }

  function startWithin(budget: Budget | undefined, delivery: ClaimedDelivery): void {
    if (!budget) return
    budgets.start(budget)
    budgeted.set(delivery, budget)
  }
}

export type Capacity = ReturnType<typeof createCapacity>

type Shares = ReturnType<typeof shareCapacity>

/** The hooks that may have more due deliveries than were claimed: they used up their share, or that of their budget. Pure. */
export function hooksWithMore(
  { slots, budgetSlots, sharers }: Shares,
  claimed: readonly ClaimedDelivery[],
): string[] {
  const counts = Map.groupBy(claimed, ({ hookId }) => hookId)
  const claimedOf = (id: string) => counts.get(id)?.length ?? 0
  const full = [...slots].flatMap(([id, share]) => (claimedOf(id) >= share ? [id] : []))
  const ofSpentBudgets = [...sharers.values()].filter((ids) => {
    const ofBudget = ids.reduce((sum, id) => sum + claimedOf(id), 0)
    return ids.length > 1 && ofBudget >= budgetSlots.get(ids[0]!)!
  })
  return [...full, ...ofSpentBudgets.flat()]
}

function hasSucceeded({ next }: AttemptedDelivery): boolean {
  return next.kind === 'delivered' || next.kind === 'ignored' || next.kind === 'continued'
}

type Limits = {
  limiter: Pick<ConcurrencyLimiter, 'available'>
  budgets: Pick<BudgetLimiter, 'available' | 'isRecovering'>
  budgetOf: (hookId: string) => Budget | undefined
}

/**
 * How many deliveries of each hook may be claimed, with `free` slots for all of them together. Hooks of one rate budget
 * share its slots; while that recovers from a pause each may have them all, and the claim decides (`budgetSlots`).
 */
export function shareCapacity(
  hookIds: Iterable<string>,
  free: number,
  { limiter, budgets, budgetOf }: Limits,
) {
  const slots = new Map<string, number>()
  /** What is left of the rate budget of each hook that has one. */
  const budgetSlots = new Map<string, number>()
  /** The hooks of each budget. */
  const sharers = new Map<string, string[]>()
  const left = new Map<string, number>()
  if (free <= 0) return { slots, budgetSlots, sharers }
  for (const id of hookIds) {
    const available = limiter.available(id, free)
    if (available === 0) continue
    const budget = budgetOf(id)
    if (!budget) {
      slots.set(id, available)
      free -= available
      continue
    }
    const key = budgetKey(budget)
    const isFirst = !left.has(key)
    const ofBudget = left.get(key) ?? budgets.available(budget)
    left.set(key, ofBudget)
    const granted = Math.min(available, ofBudget)
    if (granted === 0) continue
    slots.set(id, granted)
    budgetSlots.set(id, ofBudget)
    sharers.set(key, [...(sharers.get(key) ?? []), id])
    const isShared = budgets.isRecovering(budget)
    if (!isShared) left.set(key, ofBudget - granted)
    if (!isShared || isFirst) free -= granted
  }
  return { slots, budgetSlots, sharers }
}
