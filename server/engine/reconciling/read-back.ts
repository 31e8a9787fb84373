// Asks a service what it shows, within the rate budget of the credential.
import { type AskDeps, askWithinBudget, type Wait } from '#engine/outgoing/ask-within-budget.ts'
import type { OutgoingHook, TokenAuthorization } from '#engine/outgoing/outgoing-hooks.ts'
import { originProblem } from '#model/hooks/token-use.ts'
import type { ClaimedCheck } from './claim-checks.ts'
import {
  MAX_ANSWER_BYTES,
  type RemoteStatus,
  readBackRequest,
  readPage,
  readRemote,
  type StatusEntry,
  unreadable,
} from './read-remote.ts'

export const TIMEOUT_MS = 10_000

const NO_CREDENTIAL = 'The hook no longer has a credential that may ask for it.'

/** Reads page after page until one has the status; each is a request of its own within the budget. */
export async function readBack(
  deps: AskDeps,
  check: ClaimedCheck,
  hook: OutgoingHook,
  authorization: TokenAuthorization,
): Promise<RemoteStatus | Wait> {
  const { sent, origin, ownedUntil } = check
  const { credential } = hook
  if (authorization.kind === 'denied') return unreadable(authorization.message)
  const { token } = authorization
  if (token === null || !credential || originProblem(credential, [origin])) return unreadable(NO_CREDENTIAL)
  const budget = { credentialId: credential.id, origin }
  const statuses: StatusEntry[] = []
  for (let number = 1; ; number++) {
    if (number > 1 && performance.now() + TIMEOUT_MS > ownedUntil) return unreadable(TOO_SLOW, true)
    const limits = { timeoutMs: TIMEOUT_MS, maxBodyBytes: MAX_ANSWER_BYTES }
    const request = { ...readBackRequest(sent, token, number), ...limits }
    const asked = { ...request, verifySsl: hook.verifySsl, sharer: hook.id }
    const outcome = await askWithinBudget(deps, asked, budget)
    // A budget that is too small for all pages would be used up by the first ones again and again.
    if (outcome.kind === 'wait')
      return number === 1 || outcome.afterMs === 0 ? outcome : unreadable(NO_BUDGET, true)
    const page = readPage(sent, outcome)
    if (page.kind === 'unreadable') return page
    statuses.push(...page.statuses)
    const remote = readRemote(sent, statuses, { number, isLast: page.isLast })
    if (remote) return remote
  }
}

const TOO_SLOW = 'There are many statuses of this commit, and reading them takes too long.'
const NO_BUDGET =
  'There are many statuses of this commit, and the rate limit does not allow reading them all.'
