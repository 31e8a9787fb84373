// Questions to a service with the token of a credential, beside what is delivered: they count against the same rate budget.
import type { HttpClient, SendOutcome, SendRequest } from '#adapters/http-client/client.ts'
import type { Database } from '#platform/database/connect.ts'
import { type Budget, pauseFor, readPause, storePauses } from './rate-budgets.ts'
import { readLimit } from './read-limit.ts'

/** When a pause ends, what waits to be delivered goes first. */
const BEHIND_DELIVERIES_MS = 10_000

export type AskDeps = { db: Database; http: HttpClient; signal: AbortSignal }

/** Nothing was asked, or nothing answered: later. */
export type Wait = { kind: 'wait'; afterMs: number }

export async function askWithinBudget(
  { db, http, signal }: AskDeps,
  request: SendRequest,
  budget: Budget,
): Promise<SendOutcome | Wait> {
  const pauseMs = await readPause(db, budget)
  if (pauseMs !== null) return waitFor(pauseMs)
  const outcome = await http.send(request, signal)
  if (outcome.kind !== 'answered') return signal.aborted ? waitFor(0) : outcome
  const now = new Date()
  const limit = readLimit(outcome, now)
  if (limit) {
    const [pause] = await storePauses(db, [pauseFor(budget, limit, now)])
    if (limit.isRefused) return waitFor(pause!.ms)
  }
  return outcome
}

const waitFor = (ms: number): Wait => ({ kind: 'wait', afterMs: ms > 0 ? ms + BEHIND_DELIVERIES_MS : 0 })
