import type { AskDeps } from '#engine/outgoing/ask-within-budget.ts'
import { HOSTS } from '#model/connections/hosts.ts'
import { tokenOrigins } from '#model/hooks/token-use.ts'
import { credentialAad } from '#model/inventory/sealed-aad.ts'
import type { SecretBox } from '#platform/crypto/secret-box.ts'
import type { Database } from '#platform/database/connect.ts'
import { askForChecks, type CommitAnswer } from './ask-host.ts'
import { type ClaimedCommit, handBack, holdCommit, storeAnswer, storeProblem } from './commit-checks.ts'

export type CommitDeps = Omit<AskDeps, 'signal'> & {
  box: SecretBox
  baseUrl: () => string
  /** The shortest time between two questions about a commit. */
  minMs: number
}

/** Asks the host about a claimed commit, and stores what it said. */
export async function askCommit(deps: CommitDeps, claim: ClaimedCommit, signal: AbortSignal): Promise<void> {
  const { db, minMs } = deps
  const answer = await ask(deps, claim, signal)
  if (signal.aborted) return handBack(db, claim)
  if (answer.kind === 'lost') return
  if (answer.kind === 'answered') return storeAnswer(db, claim, answer, minMs)
  if (answer.kind === 'problem') return storeProblem(db, claim, answer.problem, 2 * minMs)
  const afterMs = Math.max(answer.afterMs, minMs)
  const problem = `${HOSTS[claim.provider].name} limits requests: it is asked again in ${Math.ceil(afterMs / 1_000)} s.`
  return storeProblem(db, claim, problem, afterMs)
}

async function ask(deps: CommitDeps, claim: ClaimedCommit, signal: AbortSignal): Promise<CommitAnswer> {
  const { db, http, baseUrl } = deps
  const token = await openToken(deps, claim)
  if (typeof token === 'object') return { kind: 'problem', ...token }
  return askForChecks({ db, http, signal, baseUrl }, { ...claim, token, hold: () => holdCommit(db, claim) })
}

/** As runs fetch with it; it may have been changed, or removed, since the run began to wait. */
async function openToken(
  { db, box }: { db: Database; box: SecretBox },
  { credentialId, provider, apiUrl }: ClaimedCommit,
): Promise<string | { problem: string }> {
  const row = await db
    .selectFrom('credentials')
    .select(['provider_code', 'base_url', 'secret'])
    .where('id', '=', credentialId)
    .where('active', '=', true)
    .where('deleted_at', 'is', null)
    .executeTakeFirst()
  if (!row?.secret) return { problem: 'The credential is inactive, was removed, or has no token.' }
  const origins = tokenOrigins({ provider: row.provider_code, baseUrl: row.base_url })
  if (row.provider_code !== provider || !origins.includes(new URL(apiUrl).origin))
    return {
      problem: `The credential is no longer one for ${HOSTS[provider].name} at ${new URL(apiUrl).host}.`,
    }
  try {
    return box.open(row.secret, credentialAad(credentialId))
  } catch {
    return { problem: 'The token was encrypted with another master key. Enter it again.' }
  }
}
