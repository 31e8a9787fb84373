import { LRUCache } from 'lru-cache'
import { type Budget, budgetKey, type StoredPause } from './rate-budgets.ts'

const INITIAL_LIMIT = 4
/** GitHub counts requests at the same time as abuse; and what is in flight when a limit is reached is refused. */
const MAX_LIMIT = 16
const MAX_BUDGETS = 10_000
/** Claims know a pause for this long after its end (`wasBudgetPaused`). */
const RECOVERY_MS = 61 * 60_000

const UNUSED = {
  inFlight: 0,
  limit: INITIAL_LIMIT,
  /** What the last answer said is left, before `until`. */
  allowance: null as { remaining: number; until: number } | null,
  pausedUntil: 0,
  /** Claims that began later than this have checked the pause; Infinity: it is not stored yet. */
  storedAt: Number.NEGATIVE_INFINITY,
  /** The last pause had no named end, and no request has succeeded since. */
  awaitsSuccess: false,
}
type State = typeof UNUSED

/**
 * What this process knows about rate budgets: how many requests may be in flight for each, and which pauses began after
 * deliveries were claimed. The database decides (claim-deliveries.ts); this keeps back what is claimed, but not sent yet.
 * After a pause a budget starts with one request, gets one more for each success, and never more than the service says
 * are left. Times are of the monotonic clock `uptimeMs`.
 */
export function createBudgetLimiter(uptimeMs: () => number) {
  const budgets = new LRUCache<string, State>({ max: MAX_BUDGETS })

  function stateOf(budget: Budget): State {
    const key = budgetKey(budget)
    const state = budgets.get(key) ?? { ...UNUSED }
    budgets.set(key, state)
    return state
  }

  return {
    /** How many more requests may start. */
    available(budget: Budget): number {
      const { inFlight, limit, allowance, storedAt, pausedUntil } = stateOf(budget)
      const now = uptimeMs()
      if (storedAt === Number.POSITIVE_INFINITY && pausedUntil > now) return 0
      const left = allowance && allowance.until > now ? allowance.remaining : limit
      // One may always find out: what the service said may be out of date.
      return inFlight === 0
        ? Math.max(1, Math.min(limit, left))
        : Math.max(0, Math.min(limit, left) - inFlight)
    },
    start(budget: Budget): void {
      stateOf(budget).inFlight += 1
    },
    finish(budget: Budget, succeeded: boolean): void {
      const state = stateOf(budget)
      state.inFlight = Math.max(0, state.inFlight - 1)
      if (succeeded) state.limit = Math.min(MAX_LIMIT, state.limit + 1)
    },
    /** What an answer says is left. */
    note(budget: Budget, allowance: { remaining: number; ms: number }): void {
      stateOf(budget).allowance = { remaining: allowance.remaining, until: uptimeMs() + allowance.ms }
    },
    /** An answer asks for a pause, which is not stored yet. */
    pause(budget: Budget, ms: number): void {
      const state = stateOf(budget)
      state.pausedUntil = Math.max(state.pausedUntil, uptimeMs() + ms)
      state.storedAt = Number.POSITIVE_INFINITY
      state.limit = 1
    },
    /** A pause of this process or another one is stored. */
    stored({ ms, isNamed, ...budget }: StoredPause): void {
      const state = stateOf(budget)
      state.pausedUntil = uptimeMs() + ms
      state.storedAt = uptimeMs()
      state.awaitsSuccess = !isNamed
      state.limit = 1
    },
    /**
     * For how long a claimed delivery must not be sent: a pause began after the claim, or, unless `isChecked`, the claim did
     * not know that the delivery counts against the budget.
     */
    heldMs(budget: Budget, claim: { claimedAt: number; isChecked: boolean }): number {
      const { pausedUntil, storedAt } = stateOf(budget)
      if (claim.isChecked && claim.claimedAt > storedAt) return 0
      return Math.max(0, pausedUntil - uptimeMs())
    },
    /** The budget is paused in the database, and yet the claim did not know that. */
    isUnknownToClaims(budget: Budget, claim: { claimedAt: number; isChecked: boolean }): boolean {
      return !claim.isChecked && claim.claimedAt > stateOf(budget).storedAt
    },
    /** It is or was paused: final deliveries of all its hooks are claimed first. */
    isRecovering(budget: Budget): boolean {
      const { storedAt, pausedUntil } = stateOf(budget)
      return storedAt !== Number.NEGATIVE_INFINITY && pausedUntil > uptimeMs() - RECOVERY_MS
    },
    /** Whether this success ends a pause without a named end. True once for each pause. */
    noteSuccess(budget: Budget, claimedAt: number): boolean {
      const state = stateOf(budget)
      if (!state.awaitsSuccess || claimedAt <= state.storedAt) return false
      state.awaitsSuccess = false
      return true
    },
  }
}

export type BudgetLimiter = ReturnType<typeof createBudgetLimiter>
