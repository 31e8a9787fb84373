// Asks a service what it shows, within the rate budget of the credential.
import type { HttpClient } from '#adapters/http-client/client.ts'
import type { OutgoingHook, TokenAuthorization } from '#engine/outgoing/outgoing-hooks.ts'
import { budgetKey, readPauses, storePauses } from '#engine/outgoing/rate-budgets.ts'
import { readLimit } from '#engine/outgoing/read-limit.ts'
import { pauseFor } from '#engine/outgoing/within-budget.ts'
import { originProblem } from '#model/hooks/token-use.ts'
import type { Database } from '#platform/database/connect.ts'
import type { ClaimedCheck } from './claim-checks.ts'
import { MAX_ANSWER_BYTES, type RemoteStatus, readBackRequest, readRemote } from './read-remote.ts'

export const TIMEOUT_MS = 10_000
/** When a pause ends, what waits to be delivered goes first. */
const BEHIND_DELIVERIES_MS = 10_000

const NO_CREDENTIAL = 'The hook no longer has a credential that may ask for it.'

type Deps = { db: Database; sender: HttpClient; signal: AbortSignal }

/** Nothing was asked, or nothing answered: later. */
export type Wait = { kind: 'wait'; afterMs: number }

export async function readBack(
  { db, sender, signal }: Deps,
  { sent, origin }: ClaimedCheck,
  { id, credential, verifySsl }: OutgoingHook,
  authorization: TokenAuthorization,
): Promise<RemoteStatus | Wait> {
  if (authorization.kind === 'denied') return unreadable(authorization.message)
  const { token } = authorization
  if (token === null || !credential || originProblem(credential, [origin])) return unreadable(NO_CREDENTIAL)
  const budget = { credentialId: credential.id, origin }
  const pauseMs = (await readPauses(db, [budget])).get(budgetKey(budget))
  if (pauseMs !== undefined) return waitFor(pauseMs)

  const outcome = await sender.send(
    {
      ...readBackRequest(sent, token),
      timeoutMs: TIMEOUT_MS,
      verifySsl,
      sharer: id,
      maxBodyBytes: MAX_ANSWER_BYTES,
    },
    signal,
  )
  if (outcome.kind !== 'answered') return signal.aborted ? waitFor(0) : readRemote(sent, outcome)
  const now = new Date()
  const limit = readLimit(outcome, now)
  if (limit) {
    const [pause] = await storePauses(db, [pauseFor(budget, limit, now)])
    if (limit.isRefused) return waitFor(pause!.ms)
  }
  return readRemote(sent, outcome)
}

const waitFor = (ms: number): Wait => ({ kind: 'wait', afterMs: ms > 0 ? ms + BEHIND_DELIVERIES_MS : 0 })

function unreadable(reason: string): RemoteStatus {
  return { kind: 'unreadable', reason, isTemporary: false }
}
