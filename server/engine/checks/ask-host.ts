// Asks a host for the checks of a commit: a few lists, page by page, each request within the budget of the credential. What
// comes back may be anything; whatever is not a list of checks is a problem with a name, and the run keeps waiting.
import { type AskDeps, askWithinBudget, type Wait } from '#engine/outgoing/ask-within-budget.ts'
import { HOSTS, type HostProvider } from '#model/connections/hosts.ts'
import {
  type CheckList,
  HOST_CHECKS,
  isOwnCheck,
  type ListedCheck,
  MAX_CHECKS,
} from '#model/connections/list-checks.ts'
import { type HostAnswer, readHostAnswer } from '#model/connections/read-answer.ts'
import type { StoredCheck } from '#platform/database/tables.ts'
import { createMask } from '#platform/masking/mask.ts'

const TIMEOUT_MS = 10_000
/** Check runs may contain long texts. */
const MAX_PAGE_BYTES = 8 * 1024 * 1024

export type AskedCommit = {
  provider: HostProvider
  apiUrl: string
  repository: string
  commit: string
  credentialId: number
  token: string
  /** Called before every request; false: another process has taken over. */
  hold: () => Promise<boolean>
}

export type CommitAnswer =
  | { kind: 'answered'; checks: StoredCheck[]; isPartial: boolean }
  | { kind: 'problem'; problem: string }
  | { kind: 'lost' }
  | Wait

export async function askForChecks(
  deps: AskDeps & { baseUrl: () => string },
  asked: AskedCommit,
): Promise<CommitAnswer> {
  const { lists, fallback, combine } = HOST_CHECKS[asked.provider]
  let isPartial = false
  let answer = await readAll(deps, asked, lists)
  if (answer.kind === 'forbidden' && fallback) {
    isPartial = true
    answer = await readAll(deps, asked, fallback)
  }
  if (answer.kind === 'forbidden') return { kind: 'problem', problem: answer.problem }
  if (answer.kind !== 'listed') return answer
  const checks = combine(answer.checks).filter((check) => !isOwnCheck(check, deps.baseUrl()))
  return { kind: 'answered', checks, isPartial }
}

type Listed =
  | { kind: 'listed'; checks: ListedCheck[] }
  /** The token may not read one of the lists. */
  | { kind: 'forbidden'; problem: string }
  | Exclude<CommitAnswer, { kind: 'answered' }>

async function readAll(deps: AskDeps, asked: AskedCommit, lists: readonly CheckList[]): Promise<Listed> {
  const checks: ListedCheck[] = []
  for (const list of lists) {
    const read = await readList(deps, asked, list)
    if (read.kind !== 'listed') return read
    checks.push(...read.checks)
  }
  return { kind: 'listed', checks }
}

async function readList(deps: AskDeps, asked: AskedCommit, list: CheckList): Promise<Listed> {
  const { name } = HOSTS[asked.provider]
  const { repository, commit } = asked
  const checks: ListedCheck[] = []
  // One more, to see that there is no more.
  for (let page = 1; page <= MAX_CHECKS / list.pageSize + 1; page++) {
    const answer = await request(deps, asked, list.path(repository, commit, page))
    if (answer.kind !== 'ok') return answer
    const entries = list.entries(answer.json)
    if (!entries) return { kind: 'problem', problem: `${name} sent something other than a list of checks.` }
    checks.push(...entries.flatMap((entry) => list.read(entry, commit) ?? []))
    const isLast = entries.length === 0 || (!answer.hasNext && entries.length < list.pageSize)
    if (isLast) return { kind: 'listed', checks }
  }
  return { kind: 'problem', problem: `${name} lists more than ${MAX_CHECKS} checks for the commit.` }
}

async function request(
  deps: AskDeps,
  { provider, apiUrl, credentialId, token, repository, commit, hold }: AskedCommit,
  path: string,
): Promise<Extract<HostAnswer, { kind: 'ok' }> | Exclude<Listed, { kind: 'listed' }>> {
  if (!(await hold())) return { kind: 'lost' }
  const host = HOSTS[provider]
  const outcome = await askWithinBudget(
    deps,
    {
      method: 'GET',
      url: apiUrl + path,
      headers: host.headers(token),
      body: null,
      timeoutMs: TIMEOUT_MS,
      maxBodyBytes: MAX_PAGE_BYTES,
      verifySsl: true,
      sharer: `checks ${credentialId}`,
    },
    { credentialId, origin: new URL(apiUrl).origin },
  )
  if (outcome.kind === 'wait') return outcome
  const answer = readHostAnswer(host, outcome, {
    action: 'read checks',
    permission: HOST_CHECKS[provider].permission,
    subject: 'the question for checks',
    whenMoved: 'Enter its new address in the application.',
    maxBytes: MAX_PAGE_BYTES,
  })
  if (answer.kind === 'ok') return answer
  const mask = createMask([token])
  if (answer.kind === 'failed') {
    const isForbidden = outcome.kind === 'answered' && outcome.status === 403
    return { kind: isForbidden ? 'forbidden' : 'problem', problem: mask.text(answer.problem) }
  }
  const problem =
    answer.kind === 'absent'
      ? `${host.name} does not find the commit ${commit.slice(0, 8)} in ${repository}, or does not allow the token to read its checks${answer.message}. ${HOST_CHECKS[provider].permission}.`
      : answer.message
  return { kind: 'problem', problem: mask.text(problem) }
}
