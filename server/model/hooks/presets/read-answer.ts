import { PROVIDERS } from '#platform/vocabulary.ts'
import { type PresetKind, providerOf } from './schema.ts'

/** What an answer means that its status alone does not say. */
export type AnswerVerdict =
  /** As any receiver's: by its status. */
  | 'ok'
  /** What was created earlier no longer exists: it is to be created once more. */
  | { kind: 'gone' }
  /** The service shows that state already. */
  | { kind: 'already' }
  | { kind: 'limited' }
  /** `as`: the status that it stands for, which decides whether it is retried. */
  | { kind: 'refused'; reason: string; as: number }

type Answer = {
  status: number
  headers: Record<string, string | string[] | undefined>
  body: Buffer | string
}
type Which = 'create' | 'update' | 'only'

/** Pure; the answer may be anything. */
export function readAnswer(kind: PresetKind, which: Which, answer: Answer): AnswerVerdict {
  const { status } = answer
  if (status === 429) return { kind: 'limited' }
  if (status >= 500) return 'ok'
  const json = readObject(answer.body)
  if (kind === 'slack_message') return readSlack(which, status, json)
  if (status >= 200 && status < 300) return 'ok'
  if (kind === 'discord_message') return readDiscord(which, status, json)
  if (status === 403 && isLimit(answer, json)) return { kind: 'limited' }
  if (status >= 300 && status < 400) return refused(status, movedTo(answer))
  if (kind === 'gitlab_status' && status === 400) return readTransition(json)
  // A token without access gets 404 as well: then creating fails, and says so.
  if (kind === 'github_deployment' && which === 'update' && status === 404) return { kind: 'gone' }
  return refused(
    status === 404 ? 403 : status,
    `${PROVIDERS[providerOf(kind)]} ${meaningOf(kind, status)}${quote(json.message)}`,
  )
}

const NEEDED: Record<PresetKind, string> = {
  github_status: 'to write commit statuses',
  github_deployment: 'to write deployments',
  gitlab_status: 'to write statuses (scope api, role Developer)',
  gitea_status: 'to write to the repository (write:repository)',
  slack_message: 'to write messages (chat:write)',
  discord_message: 'to send messages in the channel',
}

function meaningOf(kind: PresetKind, status: number): string {
  if (status === 401) return 'does not accept the token'
  if (status === 403) return `does not allow the token ${NEEDED[kind]}`
  if (status === 404)
    return `does not find the repository or the commit, or does not allow the token ${NEEDED[kind]}`
  return `rejected the request with ${status}`
}

/** 200 means nothing at Slack. */
function readSlack(which: Which, status: number, { ok, error, needed }: Json): AnswerVerdict {
  if (status < 200 || status >= 300)
    return refused(status, `Slack ${meaningOf('slack_message', status)}${quote(error)}`)
  if (ok !== false) return 'ok'
  const code = typeof error === 'string' ? error : 'no reason given'
  if (code === 'ratelimited' || code === 'rate_limited') return { kind: 'limited' }
  if (which === 'update' && SLACK_GONE.has(code)) return { kind: 'gone' }
  const missing = typeof needed === 'string' ? `; the token needs ${plain(needed)}` : ''
  return {
    kind: 'refused',
    reason: `Slack rejected the message: ${plain(code)}${missing}.`,
    as: SLACK_TEMPORARY.has(code) ? 503 : 403,
  }
}

/** Also messages of another app, and channels of another workspace: the hook has another credential now. */
const SLACK_GONE = new Set([
  'message_not_found',
  'cant_update_message',
  'edit_window_closed',
  'channel_not_found',
])
const SLACK_TEMPORARY = new Set(['internal_error', 'fatal_error', 'service_unavailable', 'request_timeout'])

function readDiscord(which: Which, status: number, { code, message }: Json): AnswerVerdict {
  if (which === 'update' && DISCORD_GONE.has(code)) return { kind: 'gone' }
  const meaning = status === 404 ? 'does not know the channel' : meaningOf('discord_message', status)
  return refused(status === 404 ? 403 : status, `Discord ${meaning}${quote(message)}`)
}

/** Unknown message; a message of another bot, whose token the hook had before. */
const DISCORD_GONE = new Set<unknown>([10_008, 50_005])

/** "Cannot transition status via :run from :running": the same state once more. */
function readTransition({ message }: Json): AnswerVerdict {
  const text = typeof message === 'string' ? message : JSON.stringify(message ?? '')
  const [, event, from] = /Cannot transition status via :(\w+) from :(\w+)/.exec(text) ?? []
  if (event !== undefined && TARGETS[event] === from) return { kind: 'already' }
  return refused(400, `GitLab rejected the status${quote(text)}`)
}

const TARGETS: Record<string, string> = {
  enqueue: 'pending',
  run: 'running',
  success: 'success',
  drop: 'failed',
  cancel: 'canceled',
  skip: 'skipped',
}

function isLimit({ headers }: Answer, { message }: Json): boolean {
  const says = typeof message === 'string' && /rate limit|abuse detection/i.test(message)
  return headers['retry-after'] !== undefined || headers['x-ratelimit-remaining'] === '0' || says
}

function movedTo({ headers }: Answer): string {
  const location = headers.location
  const where = typeof location === 'string' ? ` to ${plain(location)}` : ''
  return `The repository has moved${where}. Update the repository of the application`
}

function refused(status: number, reason: string): AnswerVerdict {
  return { kind: 'refused', reason: `${reason}.`, as: status }
}

function quote(message: unknown): string {
  return typeof message === 'string' && message.trim() !== '' ? `: ${plain(message)}` : ''
}

/** One short line, whatever the service wrote. */
function plain(text: string): string {
  return text
    .replaceAll(/[^\p{L}\p{N}\p{P}\p{S} ]+/gu, ' ')
    .trim()
    .slice(0, 200)
    .replace(/\.$/, '')
}

type Json = Record<string, unknown>

/** A body that should be a JSON object; empty when it is not. */
export function readObject(body: Buffer | string | null): Json {
  try {
    return Object(JSON.parse(String(body))) as Json
  } catch {
    return {}
  }
}
