// A commit status as a preset has sent it, and how the other side names it. Pure.
import { readObject } from './presets/read-answer.ts'

/** Presets that set the status of a commit, which can be read back. */
export const STATUS_KINDS = ['github_status', 'gitlab_status', 'gitea_status'] as const
export type StatusKind = (typeof STATUS_KINDS)[number]

export type SentStatus = {
  kind: StatusKind
  /** Where it was sent, without a query: names the repository and the commit. */
  url: string
  context: string
  state: string
  /** The page of the run, which the status links to. */
  link: string
}

/** An index holds both. */
const MAX_URL = 1_024
const MAX_CONTEXT = 255
const MAX_LINK = 2_048

export function isStatusKind(kind: unknown): kind is StatusKind {
  return STATUS_KINDS.includes(kind as StatusKind)
}

/** What a request of a preset sets; null when it sets no status that could be found again. */
export function readSentStatus(
  kind: StatusKind,
  request: { url: string; body: Buffer | null },
): SentStatus | null {
  const url = URL.parse(request.url)
  if (!url || !/\/statuses\/[^/]+$/.test(url.pathname)) return null
  const fields = { ...Object.fromEntries(url.searchParams), ...readObject(request.body) }
  const { state, target_url: link } = fields
  // GitLab takes either name.
  const context = kind === 'gitlab_status' ? (fields.name ?? fields.context) : fields.context
  const address = url.origin + url.pathname
  if (!isText(state, 64) || !isText(context, MAX_CONTEXT) || !isText(link, MAX_LINK)) return null
  return address.length > MAX_URL ? null : { kind, url: address, context, state, link }
}

/** PostgreSQL stores neither NUL nor lone surrogates. */
function isText(value: unknown, maxLength: number): value is string {
  if (typeof value !== 'string' || value === '' || value.length > maxLength) return false
  return !value.includes('\u0000') && value.isWellFormed()
}
