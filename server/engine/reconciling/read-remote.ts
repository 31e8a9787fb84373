// What a service shows as the status of a commit: the request that asks for it, and how its answer is read. Pure.
import type { SendOutcome } from '#adapters/http-client/client.ts'
import { storable } from '#engine/outgoing/record-attempt.ts'
import type { SentStatus, StatusKind } from '#model/hooks/sent-status.ts'

export type RemoteStatus =
  | { kind: 'found'; state: string; link: string | null }
  | { kind: 'missing' }
  /** `isTemporary`: the same question may be answered later. */
  | { kind: 'unreadable'; reason: string; isTemporary: boolean }

/** One page of what a service lists: those of its statuses that have the context. */
type Page = { kind: 'page'; statuses: StatusEntry[]; isLast: boolean }
type Unreadable = Extract<RemoteStatus, { kind: 'unreadable' }>

/** A page of a hundred statuses is shorter. */
export const MAX_ANSWER_BYTES = 1024 * 1024
/** How many pages are read to find one. */
export const MAX_PAGES = 10

/** The most that is shown of a state. */
const MAX_STATE = 64
const PAGE = 100
/** Gitea's own limit of a page. */
const GITEA_PAGE = 50

export type StatusEntry = Record<string, unknown>

type Provider = {
  name: string
  url: (sent: SentStatus) => string
  headers: (token: string) => Record<string, string>
  /** How its entries name the context and the state. */
  context: string
  state: string
  page: number
  /** The first one that is found is the newest one. */
  isNewestFirst: boolean
}

/** Statuses are sent to `…/statuses/<commit>` and listed elsewhere. */
const besideCommit = ({ url }: SentStatus, folder: string) =>
  url.replace(/\/statuses\/([^/]+)$/, (_, commit: string) => `/${folder}/${commit}/statuses`)

const PROVIDERS: Record<StatusKind, Provider> = {
  github_status: {
    name: 'GitHub',
    url: (sent) => `${besideCommit(sent, 'commits')}?per_page=${PAGE}`,
    headers: (token) => ({
      Authorization: `Bearer ${token}`,
      Accept: 'application/vnd.github+json',
      'X-GitHub-Api-Version': '2022-11-28',
    }),
    context: 'context',
    state: 'state',
    page: PAGE,
    isNewestFirst: true,
  },
  gitlab_status: {
    name: 'GitLab',
    url: (sent) =>
      `${besideCommit(sent, 'repository/commits')}?per_page=${PAGE}&name=${encodeURIComponent(sent.context)}`,
    headers: (token) => ({ 'PRIVATE-TOKEN': token }),
    context: 'name',
    state: 'status',
    page: PAGE,
    isNewestFirst: false,
  },
  gitea_status: {
    name: 'Gitea',
    url: (sent) => `${besideCommit(sent, 'commits')}?limit=${GITEA_PAGE}&sort=recentupdate`,
    headers: (token) => ({ Authorization: `token ${token}` }),
    context: 'context',
    state: 'status',
    page: GITEA_PAGE,
    isNewestFirst: true,
  },
}

export function serviceName(kind: StatusKind): string {
  return PROVIDERS[kind].name
}

/** `page`: from 1. It is not taken from links of the service: they might lead elsewhere, and the token with them. */
export function readBackRequest(sent: SentStatus, token: string, page = 1) {
  const provider = PROVIDERS[sent.kind]
  const url = provider.url(sent) + (page > 1 ? `&page=${page}` : '')
  return { method: 'GET', url, headers: provider.headers(token), body: null }
}

export function readPage(
  sent: Pick<SentStatus, 'kind' | 'context'>,
  outcome: SendOutcome,
): Page | Unreadable {
  const { name, context, page } = PROVIDERS[sent.kind]
  if (outcome.kind !== 'answered') return unreadable(outcome.message, outcome.kind !== 'blocked')
  const { status, headers, body } = outcome
  if (status !== 200) return unreadable(explain(name, status), status >= 500 || status === 408)
  if (body.length >= MAX_ANSWER_BYTES) return unreadable(`${name} sent more than 1 MiB.`)
  const entries = readEntries(body)
  if (!entries) return unreadable(`${name} sent something other than a list of statuses.`)
  return {
    kind: 'page',
    statuses: entries.filter((entry) => isSame(sent, entry[context])),
    // Gitea may be configured to send shorter pages than it is asked for.
    isLast: entries.length < page && !/\brel="?next\b/.test([headers.link].join()),
  }
}

/** What the pages up to this one say; null: the next one has to be read. */
export function readRemote(
  { kind }: Pick<SentStatus, 'kind'>,
  statuses: readonly StatusEntry[],
  { number, isLast }: { number: number; isLast: boolean },
): RemoteStatus | null {
  const { name, state, isNewestFirst } = PROVIDERS[kind]
  const found = newestOf(statuses)
  if (!isLast && !(found && isNewestFirst))
    return number < MAX_PAGES ? null : unreadable(`${name} lists too many other statuses.`)
  if (!found) return { kind: 'missing' }
  if (typeof found[state] !== 'string') return unreadable(`${name} sent a status without a state.`)
  const link = found.target_url
  return {
    kind: 'found',
    state: storable(found[state].slice(0, MAX_STATE)),
    link: typeof link === 'string' && link !== '' ? link : null,
  }
}

export function unreadable(reason: string, isTemporary = false): Unreadable {
  return { kind: 'unreadable', reason, isTemporary }
}

/** GitHub ignores the case of contexts. */
function isSame({ kind, context }: Pick<SentStatus, 'kind' | 'context'>, shown: unknown): boolean {
  if (typeof shown !== 'string' || kind !== 'github_status') return shown === context
  return shown.toLowerCase() === context.toLowerCase()
}

function readEntries(body: Buffer): StatusEntry[] | null {
  try {
    const value: unknown = JSON.parse(body.toString())
    if (!Array.isArray(value)) return null
    return value.filter((entry): entry is StatusEntry => typeof entry === 'object' && entry !== null)
  } catch {
    return null
  }
}

/** Ids rise with time everywhere; without them, the first of a list is the newest. */
function newestOf(entries: readonly StatusEntry[]): StatusEntry | undefined {
  return entries.reduce<StatusEntry | undefined>((newest, entry) => {
    const isNewer =
      typeof newest?.id === 'number' && typeof entry.id === 'number' ? entry.id > newest.id : !newest
    return isNewer ? entry : newest
  }, undefined)
}

function explain(name: string, status: number): string {
  const answer = `${name} returned ${status}`
  if (status >= 300 && status < 400)
    return `${answer}: the repository has moved. Update the address of the application.`
  if (status === 401) return `${answer}: the token is not valid.`
  if (status === 403) return `${answer}: the token may not read commit statuses.`
  if (status === 404) return `${answer}: no such commit, or the token may not read it.`
  return `${answer}.`
}
