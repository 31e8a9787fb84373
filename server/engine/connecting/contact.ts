import { type AskDeps, askWithinBudget, type Wait } from '#engine/outgoing/ask-within-budget.ts'
import { readPause } from '#engine/outgoing/rate-budgets.ts'
import type { HostRequest, RepositoryHost, Webhook } from '#model/connections/host.ts'
import {
  entriesOf,
  type HostAnswer,
  type HostFailure,
  MAX_ANSWER_BYTES,
  notFound,
  readHostAnswer,
  unreachable,
} from '#model/connections/read-answer.ts'
import { createMask } from '#platform/masking/mask.ts'

const TIMEOUT_MS = 10_000
/** Gitea sends fifty webhooks on a page. */
const MAX_PAGES = 20

/** The claim was lost: nothing more may be asked or stored. */
export type Lost = { kind: 'lost' }
export type Stop = HostFailure | Wait | Lost
/** `againMs`: when there is more to do; null: with the next check. */
export type CaughtUp = { kind: 'caught-up'; againMs: number | null }
export type Asked = Exclude<HostAnswer, HostFailure> | Stop

export type Contact = {
  host: RepositoryHost
  repository: string
  ask: (request: HostRequest) => Promise<Asked>
  /** Stores which webhook is removed to be created again; false: the claim is lost. */
  replace: (webhook: Webhook) => Promise<boolean>
  /** Whether the host wants to be left alone, for questions that are not asked through its API. */
  pause: () => Promise<Wait | null>
}

type Target = {
  host: RepositoryHost
  apiUrl: string
  repository: string
  hookId: string
  credentialId: number
  token: string
  /** No message contains them. */
  hidden: readonly string[]
  /** Called before every request; false: the claim is lost. */
  hold: () => Promise<boolean>
  replace: (webhook: Webhook) => Promise<boolean>
}

/** Talks to the API of a host about one repository, each request within the budget of the credential. */
export function openContact(deps: AskDeps, target: Target): Contact {
  const { host, apiUrl, repository, token } = target
  const budget = { credentialId: target.credentialId, origin: new URL(apiUrl).origin }
  const mask = createMask([token, ...target.hidden])
  return {
    host,
    repository,
    replace: target.replace,
    async pause() {
      const pauseMs = await readPause(deps.db, budget)
      return pauseMs === null ? null : { kind: 'wait', afterMs: pauseMs }
    },
    async ask({ method, path, body }) {
      if (!(await target.hold())) return { kind: 'lost' }
      const headers = { ...host.headers(token), ...(body && { 'content-type': 'application/json' }) }
      const outcome = await askWithinBudget(
        deps,
        {
          method,
          url: apiUrl + path,
          headers,
          body: body ? Buffer.from(JSON.stringify(body)) : null,
          timeoutMs: TIMEOUT_MS,
          maxBodyBytes: MAX_ANSWER_BYTES,
          verifySsl: true,
          sharer: target.hookId,
        },
        budget,
      )
      if (outcome.kind === 'wait') return outcome
      const answer = readHostAnswer(host, outcome)
      if (answer.kind === 'failed') return { ...answer, problem: mask.text(answer.problem) }
      return answer.kind === 'ok' ? answer : { ...answer, message: mask.text(answer.message) }
    },
  }
}

/** Every webhook of the repository. */
export async function listWebhooks({
  host,
  repository,
  ask,
}: Contact): Promise<{ kind: 'listed'; webhooks: Webhook[] } | Stop> {
  const webhooks: Webhook[] = []
  for (let page = 1; page <= MAX_PAGES; page++) {
    const answer = await ask(host.list(repository, page))
    if (answer.kind === 'absent') return notFound(host, repository)
    if (answer.kind === 'rejected') return unreachable(answer.message)
    if (answer.kind !== 'ok') return answer
    const entries = entriesOf(answer.json)
    if (!entries) return unreachable(`${host.name} sent something other than a list of webhooks.`)
    webhooks.push(...entries.flatMap((entry) => host.read(entry) ?? []))
    if (!answer.hasNext && entries.length < host.pageSize) return { kind: 'listed', webhooks }
  }
  return unreachable(`${repository} has too many webhooks at ${host.name}.`)
}
