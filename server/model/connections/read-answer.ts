import type { SendOutcome } from '#adapters/http-client/client.ts'
import { LARGE_ID, objectOf, type RepositoryHost, textOf } from './host.ts'
import type { ConnectionState } from './judge.ts'

// What the answer of a host means. It may be anything. Pure.

/** A page of a hundred webhooks or deliveries is shorter. */
export const MAX_ANSWER_BYTES = 2 * 1024 * 1024

export type HostAnswer =
  /** `cursor`: of the next page, where pages have no numbers. */
  | { kind: 'ok'; json: unknown; hasNext: boolean; cursor: string | null }
  /** 404: there is no such thing, or the token may not see it. */
  | { kind: 'absent'; message: string }
  /** The host does not want what was sent. */
  | { kind: 'rejected'; message: string }
  | HostFailure

/** Nothing can be said or done now. `isTemporary`: the same request may succeed later. */
export type HostFailure = {
  kind: 'failed'
  state: ConnectionState
  problem: string
  isTemporary: boolean
  /** The repository is elsewhere at the same host. */
  hasMoved?: true
  /** It did answer. */
  isTooLong?: true
}

/** What is asked of a host, for messages. */
export type Purpose = {
  /** `manage webhooks` */
  action: string
  permission: string
  /** What is rejected. */
  subject: string
  /** What to do when the repository is elsewhere. */
  whenMoved: string
  maxBytes?: number
}

const webhooksOf = ({ permission }: RepositoryHost): Purpose => ({
  action: 'manage webhooks',
  permission,
  subject: 'the webhook',
  whenMoved: 'Enter its new address in the application, then repair the connection.',
})

export function readHostAnswer(
  host: RepositoryHost,
  outcome: SendOutcome,
  { action, permission, subject, whenMoved, maxBytes = MAX_ANSWER_BYTES } = webhooksOf(host),
): HostAnswer {
  if (outcome.kind !== 'answered') return unreachable(outcome.message)
  const { status, headers, body } = outcome
  if (status >= 200 && status < 300) {
    if (body.length >= maxBytes)
      return { ...unreachable(`${host.name} sent more than ${maxBytes} bytes.`), isTooLong: true }
    const json = status === 204 || body.length === 0 ? null : readJson(body)
    if (json === undefined) return unreachable(`${host.name} sent something other than JSON.`)
    const link = [headers.link].join()
    return { kind: 'ok', json, hasNext: /\brel="?next\b/.test(link), cursor: cursorIn(link) }
  }
  const said = quoteOf(body)
  if (status === 401)
    return forbidden(`${host.name} does not accept the token of the credential${said}. It may have expired.`)
  if (status === 403)
    return forbidden(`${host.name} does not allow the token to ${action}${said}. ${permission}.`)
  if (status === 404 || status === 410) return { kind: 'absent', message: said }
  if ((status >= 300 && status < 400) || status === 405)
    return {
      kind: 'failed',
      state: 'changed',
      problem: `The repository has moved at ${host.name}: it was renamed or transferred. ${whenMoved}`,
      isTemporary: false,
      hasMoved: true,
    }
  if (status >= 500 || status === 408 || status === 425)
    return unreachable(`${host.name} answered with ${status}.`)
  return { kind: 'rejected', message: `${host.name} rejected ${subject} with ${status}${said}.` }
}

/** A repository that cannot be found: the host says the same about one that the token may not see. */
export function notFound(host: RepositoryHost, repository: string): HostFailure {
  return forbidden(
    `${host.name} does not find ${repository}, or does not allow the token to manage its webhooks. ${host.permission}.`,
  )
}

/** With what to change when the host does not like the address. */
export function explainRejection(host: RepositoryHost, message: string, baseUrl: string): string {
  const isAboutAddress = /\burl\b|address|host|reach|block|local|internet|allowed/i.test(message)
  if (!isAboutAddress) return message
  return `${message} The webhook calls ${baseUrl}, which is GANTRY_URL: ${host.addressHint}. Otherwise change GANTRY_URL, or let Gantry poll the repository.`
}

export function unreachable(problem: string): HostFailure {
  return { kind: 'failed', state: 'unreachable', problem, isTemporary: true }
}
export function forbidden(problem: string): HostFailure {
  return { kind: 'failed', state: 'forbidden', problem, isTemporary: false }
}

/** The entries of a list that are objects; null: no list. */
export function entriesOf(json: unknown): Record<string, unknown>[] | null {
  return Array.isArray(json) ? json.map(objectOf) : null
}

function cursorIn(link: string): string | null {
  const next = /<([^<>]*)>[^<>]*\brel="?next\b/.exec(link)?.[1]
  return (next !== undefined && URL.parse(next)?.searchParams.get('cursor')) || null
}

function readJson(body: Buffer): unknown {
  try {
    const text = body.toString('utf8')
    return /\d{16}/.test(text) ? JSON.parse(text, keepLargeIds) : JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Ids have up to 64 bits, and a number would round them. */
function keepLargeIds(_key: string, value: unknown, { source }: { source?: string } = {}): unknown {
  const isRounded = typeof value === 'number' && !Number.isSafeInteger(value)
  return isRounded && source !== undefined && LARGE_ID.test(source) ? source : value
}

const MAX_QUOTED = 300

/** ` (what the host says)`, as one line of text; empty without a message. */
function quoteOf(body: Buffer): string {
  const json = objectOf(readJson(body.subarray(0, 64 * 1024)))
  const details = Array.isArray(json.errors)
    ? json.errors.flatMap((one) => textOf(one) ?? textOf(objectOf(one).message) ?? [])
    : []
  const texts = [json.message, json.error, json.error_description].flatMap(textsIn)
  const said = [...new Set([...texts, ...details])]
    .join(': ')
    .replace(/[^\p{L}\p{N}\p{P}\p{S} ]+/gu, ' ')
    .trim()
  return said === '' ? '' : ` (${said.slice(0, MAX_QUOTED)})`
}

/** GitLab groups messages by field. */
function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  return Object.entries(objectOf(value)).flatMap(([field, messages]) =>
    [messages].flat().flatMap((message) => (typeof message === 'string' ? [`${field} ${message}`] : [])),
  )
}
