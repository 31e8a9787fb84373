// The second stage of a delivery: loads what a claim needs, and attempts its deliveries.
import { createActionReader } from '#model/actions/read-action.ts'
import { createMask } from '#platform/masking/mask.ts'
import { maskError } from '#platform/masking/mask-error.ts'
import { type AttemptDeps, type AttemptedDelivery, attemptDelivery, skip } from './attempt-delivery.ts'
import { loadCapturedOf } from './captured-values.ts'
import { NOTHING_CAPTURED } from './choose-request.ts'
import type { ClaimedDelivery } from './claim-deliveries.ts'
import { authorizeTokens, createOutgoingHooks, type OutgoingHook, type TokenDeps } from './outgoing-hooks.ts'
import { budgetOfHook } from './rate-budgets.ts'
import { maskWith, recordUnsent } from './record-attempt.ts'
import { nextAttempt } from './retry-schedule.ts'
import type { StageDeps } from './stage.ts'

export type AttemptOptions = StageDeps & TokenDeps & Pick<AttemptDeps, 'box' | 'http' | 'tree' | 'baseUrl'>

/** Attempts what was claimed, until `signal` aborts: what is not answered by then is handed back. */
export function createAttempts(options: AttemptOptions) {
  const { db, box, http, tree, baseUrl, budgets, log, capacity, persist, signal } = options
  const findHooks = createOutgoingHooks(db, box)
  const deps: AttemptDeps = {
    ...{ db, box, http, tree, baseUrl, budgets },
    readAction: createActionReader({ db, baseUrl }),
    now: () => new Date(),
    random: Math.random,
    uptimeMs: () => performance.now(),
  }

  /** The deliveries of one claim share the loading of their hooks and of their editors' permissions. */
  async function load(claimed: readonly ClaimedDelivery[]) {
    const ids = claimed.map((delivery) => delivery.hookId)
    const hooks = await findHooks(ids, claimed[0]!.treeVersion)
    const usable = [...hooks.values()].filter((hook): hook is OutgoingHook => !(hook instanceof Error))
    for (const hook of usable) capacity.learnBudget(hook.id, budgetOfHook(hook))
    const [tokens, captured] = await Promise.all([
      authorizeTokens(options, usable),
      loadCapturedOf(db, box, claimed, hooks),
    ])
    return { hooks, tokens, captured }
  }

  async function attempt(
    delivery: ClaimedDelivery,
    loading: ReturnType<typeof load>,
  ): Promise<AttemptedDelivery> {
    try {
      const { hooks, tokens, captured } = await loading
      const hook = hooks.get(delivery.hookId)
      // Removed since it was claimed: the next poll marks its deliveries as missed.
      if (!hook || signal.aborted) return skip(delivery, { kind: 'handed-back' })
      if (hook instanceof Error) throw hook
      if (!capacity.admits(delivery)) return skip(delivery, { kind: 'paused', afterMs: 1 })
      const known = captured.get(delivery.id) ?? NOTHING_CAPTURED
      const token = tokens.get(hook.id)!
      return await attemptDelivery(deps, hook, delivery, token, signal, known).catch((error) => {
        throw maskError(error, maskWith(hook, known.values).text)
      })
    } catch (error) {
      return afterCrash(delivery, error)
    }
  }

  /** An internal error counts as a failed attempt. */
  function afterCrash(delivery: ClaimedDelivery, error: unknown): AttemptedDelivery {
    if (signal.aborted) return skip(delivery, { kind: 'handed-back' })
    log.error({ err: error, hook_id: delivery.hookId, delivery_id: delivery.id }, 'delivery attempt crashed')
    const reason = 'Internal error; see the log of the service.'
    const scheduled = nextAttempt({ kind: 'unreachable' }, delivery.attempt, deps.random())
    const next = scheduled.kind === 'failed' ? { ...scheduled, reason } : scheduled
    const record = recordUnsent({ url: '', method: '' }, 'unrenderable', reason, createMask([]))
    return { kind: 'unsent', delivery, next, record }
  }

  /** One promise for each delivery; none of them rejects. */
  return (claimed: readonly ClaimedDelivery[]): Promise<AttemptedDelivery>[] => {
    if (claimed.length === 0) return []
    const loading = persist('load hooks', () => load(claimed), signal)
    return claimed.map((delivery) => attempt(delivery, loading))
  }
}
