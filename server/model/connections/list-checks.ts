// What to ask hosts about the checks of a commit, and what their entries mean. Pure.
import type { StoredCheck } from '#platform/database/tables.ts'
import { encodePath, idOf, objectOf, textOf, timeOf } from './host.ts'
import type { HostProvider } from './hosts.ts'

/** A list of a host, page by page. */
export type CheckList = {
  path: (repository: string, commit: string, page: number) => string
  pageSize: number
  /** Its entries; null: no list. */
  entries: (json: unknown) => Record<string, unknown>[] | null
  /** Null: it does not count. */
  read: (entry: Record<string, unknown>, commit: string) => ListedCheck | null
}

/** Of several entries about one check, that with the highest number is the newest. */
export type ListedCheck = StoredCheck & { number: number }

export type HostChecks = {
  /** In this order: what is asked later is newer. */
  lists: readonly CheckList[]
  /** Instead of `lists`, for a token that cannot read them. */
  fallback: readonly CheckList[] | null
  /** What the token needs, for messages. */
  permission: string
  /** What all the lists say together. */
  combine: (checks: readonly ListedCheck[]) => StoredCheck[]
}

/** More are not read. */
export const MAX_CHECKS = 3_000

const ACTIONS = 'github-actions'
const ofCommit = (repository: string, commit: string) => `/repos/${encodePath(repository)}/commits/${commit}`
const github = (path: CheckList['path'], field: string, read: CheckList['read']): CheckList => ({
  path: (repository, commit, page) => {
    const url = path(repository, commit, page)
    return `${url}${url.includes('?') ? '&' : '?'}per_page=100${page > 1 ? `&page=${page}` : ''}`
  },
  pageSize: 100,
  entries: (json) => listOf(objectOf(json)[field]),
  read,
})

/** A run, a suite or a workflow run has a conclusion once it is completed. */
const reportedBy = (entry: Record<string, unknown>) =>
  entry.status === 'completed' ? textOf(entry.conclusion) : textOf(entry.status)

const checkRuns = github(
  (repository, commit) => `${ofCommit(repository, commit)}/check-runs?filter=latest`,
  'check_runs',
  (entry) => {
    const suite = idOf(objectOf(entry.check_suite).id)
    const app = idOf(objectOf(entry.app).id)
    const check = checkOf(entry, `run ${app} ${suite} ${textOf(entry.name)}`, {
      name: entry.name,
      reported: reportedBy(entry),
      link: entry.html_url ?? entry.details_url,
      since: entry.completed_at ?? entry.started_at,
    })
    return check && (suite === null ? check : { ...check, suite })
  },
)

/** Most apps have an empty suite for every commit: only one of GitHub Actions is about to get checks. */
const checkSuites = github(
  (repository, commit) => `${ofCommit(repository, commit)}/check-suites`,
  'check_suites',
  (entry) => {
    const app = objectOf(entry.app)
    const suite = idOf(entry.id)
    if (suite === null) return null
    const isEmpty = entry.latest_check_runs_count === 0
    const isActions = app.slug === ACTIONS
    if (isEmpty && !isActions) return null
    const check = checkOf(entry, `suite ${isActions ? ACTIONS : 'other'} ${suite}`, {
      name: textOf(app.name) ?? 'an app',
      reported: reportedBy(entry),
      link: null,
      since: entry.updated_at,
    })
    if (!check) return null
    if (entry.status !== 'completed') return { ...check, suite, isSuite: true }
    // It ended before there was a check, such as that of a workflow with a mistake.
    return isEmpty && isActions ? { ...check, suite } : null
  },
)

const workflowRuns = github(
  (repository, commit) => `/repos/${encodePath(repository)}/actions/runs?head_sha=${commit}`,
  'workflow_runs',
  // A server that does not know the filter lists those of every commit.
  (entry, commit) =>
    entry.head_sha !== commit
      ? null
      : checkOf(entry, `workflow ${idOf(entry.id)}`, {
          name: textOf(entry.name) ?? entry.path,
          reported: reportedBy(entry),
          link: entry.html_url,
          since: entry.updated_at,
        }),
)

const statusOf = (context: unknown, reported: unknown, entry: Record<string, unknown>) =>
  checkOf(entry, `status ${textOf(context)?.toLowerCase()}`, {
    name: context,
    reported,
    link: entry.target_url,
    since: entry.updated_at ?? entry.created_at,
  })

const githubStatuses = github(
  (repository, commit) => `${ofCommit(repository, commit)}/status`,
  'statuses',
  (entry) => statusOf(entry.context, entry.state, entry),
)

const gitlabStatuses: CheckList = {
  path: (repository, commit, page) =>
    `/projects/${encodeURIComponent(repository)}/repository/commits/${commit}/statuses?per_page=100${page > 1 ? `&page=${page}` : ''}`,
  pageSize: 100,
  entries: listOf,
  read(entry) {
    // Its failure is none.
    if (entry.allow_failure === true) return null
    return checkOf(entry, `job ${textOf(entry.ref)} ${textOf(entry.name)}`, {
      name: entry.name,
      reported: entry.status,
      link: entry.target_url,
      since: entry.finished_at ?? entry.started_at ?? entry.created_at,
    })
  },
}

const giteaStatuses: CheckList = {
  path: (repository, commit, page) =>
    `${ofCommit(repository, commit)}/statuses?limit=50&sort=recentupdate${page > 1 ? `&page=${page}` : ''}`,
  pageSize: 50,
  entries: listOf,
  read: (entry) => statusOf(entry.context, entry.status ?? entry.state, entry),
}

export const HOST_CHECKS: Readonly<Record<HostProvider, HostChecks>> = {
  github: {
    // Suites first: one that is completed has all of its checks in the list that is read afterward.
    lists: [checkSuites, checkRuns, githubStatuses],
    fallback: [workflowRuns, githubStatuses],
    permission:
      'A fine-grained token needs the repository permissions Actions: read and Commit statuses: read, a classic token the scope repo',
    combine: (checks) => withoutEmptySuites(newestOfEach(checks)),
  },
  gitlab: {
    lists: [gitlabStatuses],
    fallback: null,
    permission: 'The token needs the scope read_api and the role Reporter in the project',
    combine: newestOfEach,
  },
  gitea: {
    lists: [giteaStatuses],
    fallback: null,
    permission: 'The token needs the scope read:repository',
    combine: newestOfEach,
  },
}

/** Ours: of every Gantry, by its context, and of this one by its pages. They would wait for themselves. */
export function isOwnCheck({ name, link }: Pick<StoredCheck, 'name' | 'link'>, baseUrl: string): boolean {
  if (name.toLowerCase().startsWith('gantry/')) return true
  const base = baseUrl.replace(/\/+$/, '')
  return link !== null && (link === base || link.startsWith(`${base}/`))
}

type Entry = Record<string, unknown>

function checkOf(
  entry: Entry,
  key: string,
  { name, reported, link, since }: { name: unknown; reported: unknown; link: unknown; since: unknown },
): ListedCheck | null {
  const shownName = lineOf(name, 255)
  if (shownName === '') return null
  return {
    key: lineOf(key, 600),
    name: shownName,
    // One without a state waits.
    reported: lineOf(reported, 64) || 'unknown',
    link: linkOf(link),
    since: timeOf(since),
    // Ids rise with time everywhere.
    number: Number(idOf(entry.id) ?? 0),
  }
}

/** One line of visible text: hosts let anyone name checks. */
function lineOf(value: unknown, length: number): string {
  if (typeof value !== 'string') return ''
  return value
    .replace(/[^\p{L}\p{M}\p{N}\p{P}\p{S} ]+/gu, ' ')
    .trim()
    .slice(0, length)
    .toWellFormed()
}

function linkOf(value: unknown): string | null {
  const url = typeof value === 'string' && value.length <= 2_048 ? URL.parse(value) : null
  const isPage =
    url && ['http:', 'https:'].includes(url.protocol) && url.username === '' && url.password === ''
  return isPage ? url.href : null
}

function newestOfEach(checks: readonly ListedCheck[]): StoredCheck[] {
  const newest = new Map<string, ListedCheck>()
  for (const check of checks) {
    const known = newest.get(check.key)
    if (!known || check.number > known.number) newest.set(check.key, check)
  }
  return [...newest.values()].map(({ number, ...check }) => check)
}

/** For apps that never said how many checks a suite has. */
function withoutEmptySuites(checks: readonly StoredCheck[]): StoredCheck[] {
  const withChecks = new Set(checks.flatMap(({ suite, isSuite }) => (isSuite ? [] : (suite ?? []))))
  return checks.filter(
    ({ isSuite, suite, key }) => !isSuite || withChecks.has(suite!) || key.startsWith(`suite ${ACTIONS} `),
  )
}

function listOf(json: unknown): Entry[] | null {
  return Array.isArray(json) ? json.map(objectOf) : null
}
