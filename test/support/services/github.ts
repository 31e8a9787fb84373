// GitHub's REST API: commit statuses, checks, deployments and their statuses, webhooks. Paths work as on api.github.com and, as
// on GitHub Enterprise Server, below /api/v3.
import { type Static, Type } from 'typebox'
import { createChecks, PAGES } from './github-checks.ts'
import { createDeployments, type Deployment } from './github-deployments.ts'
import { apiUrl, repositoryOf } from './github-shapes.ts'
import { createGithubWebhooks } from './github-webhooks.ts'
import { type Repositories, repositoryAt } from './repositories.ts'
import { type Arrived, type Call, type Closer, type Reply, type Service, startService } from './service.ts'
import { pageOf } from './webhooks.ts'

const NewStatus = Type.Object(
  {
    state: Type.Union(['error', 'failure', 'pending', 'success'].map((one) => Type.Literal(one))),
    target_url: Type.Optional(Type.Union([Type.Null(), Type.String({ pattern: '^https?://' })])),
    description: Type.Optional(Type.Union([Type.Null(), Type.String({ maxLength: 140 })])),
    context: Type.Optional(Type.String({ minLength: 1, maxLength: 255 })),
  },
  { additionalProperties: false },
)

export type GithubStatus = {
  id: number
  repository: string
  sha: string
  state: string
  context: string
  description: string | null
  target_url: string | null
  created_at: string
}

export type Github = Service & {
  /** In the order of their creation: GitHub keeps every one and shows the newest of a context. */
  statuses: GithubStatus[]
  deployments: Deployment[]
  /** What GitHub shows for a commit, by context. */
  shown(sha: string): Record<string, string>
  /** A status set by someone else. */
  set(status: Pick<GithubStatus, 'repository' | 'sha' | 'state' | 'context'> & Partial<GithubStatus>): void
  rename(from: string, to: string): void
  /** Check suites, check runs and workflow runs. */
  checks: Omit<ReturnType<typeof createChecks>, 'calls'>
  /** Webhooks of repositories, and the calls that they made. */
  hooks: Omit<ReturnType<typeof createGithubWebhooks>, 'calls'>
}

const ROOT = '^(?:/api/v3)?'
const REPO = `${ROOT}/(?:repos/(?<owner>[^/]+)/(?<name>[^/]+)|repositories/(?<id>\\d+))`
const path = (rest: string) => new RegExp(`${REPO}${rest}$`)
const DOCS = 'https://docs.github.com/rest'

export async function startGithub(t: Closer): Promise<Github> {
  const statuses: GithubStatus[] = []
  const repositories: Repositories = new Map()
  let ids = 1_000
  const nextId = () => ++ids

  function add(status: Omit<GithubStatus, 'id' | 'created_at'>): GithubStatus {
    const created = { id: nextId(), created_at: new Date().toISOString(), ...status }
    statuses.push(created)
    return created
  }
  /** Contexts are case-insensitive. */
  const newestFirst = (repository: string, sha: string) =>
    statuses.filter((one) => one.repository === repository && one.sha === sha).reverse()

  function latest(repository: string, sha: string): GithubStatus[] {
    const byContext = new Map<string, GithubStatus>()
    for (const one of newestFirst(repository, sha)) {
      const key = one.context.toLowerCase()
      if (!byContext.has(key)) byContext.set(key, one)
    }
    return [...byContext.values()]
  }

  /** Redirects to the new name: 301, or 307 for what is not a GET, so that it is sent again as it is. */
  function at(request: Arrived, perform: (repository: string) => Reply): Reply {
    const found = repositoryAt(repositories, request.params)
    if (found.kind === 'here') return perform(found.repository)
    const location = request.path.replace(/\/repos\/[^/]+\/[^/]+/, `/repositories/${found.id}`)
    const url = `http://${request.headers.host}${location}`
    return {
      status: request.method === 'GET' ? 301 : 307,
      headers: { location: url },
      body: { message: 'Moved Permanently', url, documentation_url: DOCS },
    }
  }

  const { deployments, calls: deploymentCalls } = createDeployments({ at, path, nextId, latest })

  const { calls: checkCalls, ...checks } = createChecks({ at, path, nextId })

  const { calls: webhookCalls, ...hooks } = createGithubWebhooks({ at, path, nextId, problem })

  const calls: Call[] = [
    {
      name: 'create status',
      method: 'POST',
      path: path('/statuses/(?<sha>[^/]+)'),
      body: NewStatus,
      perform: (request) => at(request, (repository) => createStatus(repository, request)),
    },
    {
      name: 'list statuses',
      method: 'GET',
      path: path('/commits/(?<sha>[^/]+)/statuses'),
      perform: (request) =>
        at(request, (repository) => {
          const perPage = Math.min(100, Number(request.query.per_page ?? 30))
          const page = Number(request.query.page ?? 1)
          const all = newestFirst(repository, request.params.sha!)
          return { status: 200, body: all.slice((page - 1) * perPage, page * perPage) }
        }),
    },
    {
      name: 'combined status',
      method: 'GET',
      path: path('/commits/(?<sha>[^/]+)/status'),
      perform: (request) =>
        at(request, (repository) => {
          const { sha } = request.params
          const shown = latest(repository, sha!)
          const { body, ...reply } = pageOf(shown.map(shownStatus), request, PAGES)
          const url = apiUrl(`${repository}/commits/${sha}`)
          return {
            ...reply,
            body: {
              ...{ state: combined(shown), sha, total_count: shown.length, statuses: body },
              ...{ repository: repositoryOf(repository), commit_url: url, url: `${url}/status` },
            },
          }
        }),
    },
    {
      name: 'user',
      method: 'GET',
      path: new RegExp(`${ROOT}/user$`),
      perform: () => ({ status: 200, body: { id: 1, login: 'deployer', type: 'User' } }),
    },
    ...deploymentCalls,
    ...checkCalls,
    ...webhookCalls,
  ]

  function createStatus(repository: string, { params, json }: Arrived): Reply {
    const {
      state,
      target_url = null,
      description = null,
      context = 'default',
    } = json as Static<typeof NewStatus>
    const sha = params.sha!
    if (!/^[0-9a-f]{40}$/.test(sha)) {
      return { status: 422, body: { message: `No commit found for SHA: ${sha}`, documentation_url: DOCS } }
    }
    const created = add({ repository, sha, state: String(state), target_url, description, context })
    return { status: 201, body: { ...created, creator: { login: 'deployer' } } }
  }

  const service = await startService(t, {
    name: 'GitHub',
    calls,
    readToken: ({ authorization }) => /^(?:Bearer|token) (.+)$/i.exec(authorization ?? '')?.[1] ?? null,
    refuse({ method, call }, access) {
      if (access === 'missing') return problem(401, 'Requires authentication')
      if (access === 'revoked') return problem(401, 'Bad credentials')
      // Without the permission, webhooks do not exist.
      if (access === 'hidden' || (access === 'read' && / (webhooks?|deliveries)$/.test(call ?? '')))
        return problem(404, 'Not Found')
      // They can have no permission to read checks.
      if (access === 'fine-grained' && / check (suites|runs)$/.test(call ?? ''))
        return problem(403, 'Resource not accessible by personal access token')
      if (access === 'read' && method !== 'GET')
        return problem(403, 'Resource not accessible by personal access token')
      return null
    },
    invalid: (_, message) => ({
      status: 422,
      body: { message: 'Validation Failed', errors: [{ message }], documentation_url: DOCS },
    }),
    unknown: problem(404, 'Not Found'),
    limitHeaders: (window, kind): Record<string, string> => {
      if (kind !== 'primary') return {}
      return {
        'x-ratelimit-limit': String(window.limit),
        'x-ratelimit-remaining': String(window.remaining),
        'x-ratelimit-used': String(window.used),
        'x-ratelimit-reset': String(window.resetAt),
        'x-ratelimit-resource': 'core',
      }
    },
    limited(window, kind) {
      if (kind === 'primary') {
        const headers = this.limitHeaders(window, kind)
        return { ...problem(403, 'API rate limit exceeded for user ID 1.'), headers }
      }
      // The secondary limit says how long to wait, or (kind: unnamed) nothing at all.
      const seconds = String(Math.ceil(window.resetAfter / 1_000))
      const message =
        'You have exceeded a secondary rate limit. Please wait a few minutes before you try again.'
      return { ...problem(403, message), headers: kind === 'unnamed' ? {} : { 'retry-after': seconds } }
    },
  })

  return {
    ...service,
    statuses,
    deployments,
    hooks,
    checks,
    shown: (sha) => {
      const found = new Set(statuses.map(({ repository }) => repository))
      return Object.fromEntries(
        [...found].flatMap((repository) => latest(repository, sha).map((one) => [one.context, one.state])),
      )
    },
    set: (status) => {
      add({ description: null, target_url: null, ...status })
    },
    rename: (from, to) => {
      repositories.set(from, { id: nextId(), name: to })
      for (const one of [...statuses, ...hooks.webhooks]) if (one.repository === from) one.repository = to
    },
  }
}

/** As a part of the combined status. */
const shownStatus = ({ repository, sha, ...status }: GithubStatus) => ({
  ...status,
  node_id: `status ${status.id}`,
  avatar_url: 'https://avatars.githubusercontent.com/u/1?v=4',
  url: apiUrl(`${repository}/statuses/${sha}`),
  updated_at: status.created_at,
})

function combined(statuses: readonly GithubStatus[]): string {
  if (statuses.some(({ state }) => state === 'failure' || state === 'error')) return 'failure'
  return statuses.length > 0 && statuses.every(({ state }) => state === 'success') ? 'success' : 'pending'
}

const problem = (status: number, message: string): Reply => ({
  status,
  body: { message, documentation_url: DOCS, status: String(status) },
})
