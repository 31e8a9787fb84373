import type { BudgetLimiter } from './budget-limiter.ts'
import type { createConcurrencyLimiter } from './concurrency-limiter.ts'
import { type Budget, budgetKey } from './rate-budgets.ts'

/**
 * How many deliveries of each hook may be claimed, with `free` slots for all of them together. Hooks of one rate budget
 * share its slots; while that recovers from a pause each may have them all, and the claim decides (`budgetSlots`).
 */
export function shareCapacity(
  hookIds: Iterable<string>,
  free: number,
  {
    limiter,
    budgets,
    budgetOf,
  }: {
    limiter: Pick<ReturnType<typeof createConcurrencyLimiter>, 'available'>
    budgets: Pick<BudgetLimiter, 'available' | 'isRecovering'>
    budgetOf: (hookId: string) => Budget | undefined
  },
): { slots: Map<string, number>; budgetSlots: Map<string, number> } {
  const slots = new Map<string, number>()
  const budgetSlots = new Map<string, number>()
  const left = new Map<string, number>()
  if (free <= 0) return { slots, budgetSlots }
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
    const isShared = budgets.isRecovering(budget)
    if (!isShared) left.set(key, ofBudget - granted)
    if (!isShared || isFirst) free -= granted
  }
  return { slots, budgetSlots }
}
