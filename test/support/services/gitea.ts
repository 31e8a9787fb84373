// Gitea's and Forgejo's API of commit statuses and webhooks. They have no limits of their own; a proxy in front of them may.
import { Type } from 'typebox'
import { createGiteaWebhooks } from './gitea-webhooks.ts'
import { type Repositories, repositoryAt } from './repositories.ts'
import { type Arrived, type Closer, type Reply, type Service, startService } from './service.ts'

const STATES = ['pending', 'success', 'error', 'failure', 'warning', 'skipped']
const NewStatus = Type.Object(
  {
    state: Type.Union(STATES.map((one) => Type.Literal(one))),
    target_url: Type.Optional(Type.Union([Type.Literal(''), Type.String({ pattern: '^https?://' })])),
    description: Type.Optional(Type.String()),
    context: Type.Optional(Type.String()),
  },
  { additionalProperties: false },
)

export type GiteaStatus = {
  id: number
  repository: string
  sha: string
  /** Gitea takes `state` and answers with `status`. */
  status: string
  context: string
  description: string
  target_url: string
}

export type Gitea = Service & {
  statuses: GiteaStatus[]
  shown(sha: string): Record<string, string>
  set(status: Pick<GiteaStatus, 'repository' | 'sha' | 'status' | 'context'> & Partial<GiteaStatus>): void
  rename(from: string, to: string): void
  hooks: Omit<ReturnType<typeof createGiteaWebhooks>, 'calls'>
}

const REPO = '^/api/v1/repos/(?<owner>[^/]+)/(?<name>[^/]+)'

export async function startGitea(t: Closer): Promise<Gitea> {
  const statuses: GiteaStatus[] = []
  const repositories: Repositories = new Map()
  let ids = 0

  function at(request: Arrived, perform: (repository: string) => Reply): Reply {
    const found = repositoryAt(repositories, request.params)
    if (found.kind === 'here') return perform(found.repository)
    const location = request.path.replace(/\/repos\/[^/]+\/[^/]+/, `/repos/${found.to}`)
    return { status: request.method === 'GET' ? 301 : 307, headers: { location }, body: '' }
  }

  function createStatus(repository: string, { params, json }: Arrived): Reply {
    const sha = params.sha!
    if (!/^[0-9a-f]{40}$/.test(sha)) return problem(404, "The target couldn't be found.")
    const { state, context = '', description = '', target_url = '' } = json
    const created = { id: ++ids, repository, sha, status: state, context, description, target_url }
    statuses.push(created)
    return { status: 201, body: { ...created, creator: { login: 'deployer' } } }
  }

  const { calls: webhookCalls, ...hooks } = createGiteaWebhooks({ at, nextId: () => ++ids })

  const service = await startService(t, {
    name: 'Gitea',
    calls: [
      {
        name: 'create status',
        method: 'POST',
        path: new RegExp(`${REPO}/statuses/(?<sha>[^/]+)$`),
        body: NewStatus,
        perform: (request) => at(request, (repository) => createStatus(repository, request)),
      },
      {
        name: 'list statuses',
        method: 'GET',
        path: new RegExp(`${REPO}/(?:commits/(?<sha>[^/]+)/statuses|statuses/(?<ref>[^/]+))$`),
        perform: (request) =>
          at(request, (repository) => {
            const sha = request.params.sha ?? request.params.ref
            const found = statuses.filter((one) => one.repository === repository && one.sha === sha)
            const limit = Number(request.query.limit ?? 30)
            const page = Number(request.query.page ?? 1)
            return { status: 200, body: found.reverse().slice((page - 1) * limit, page * limit) }
          }),
      },
      {
        name: 'user',
        method: 'GET',
        path: /^\/api\/v1\/user$/,
        perform: () => ({ status: 200, body: { id: 1, login: 'deployer' } }),
      },
      ...webhookCalls,
    ],
    readToken: ({ authorization }) => /^(?:token|Bearer) (.+)$/i.exec(authorization ?? '')?.[1] ?? null,
    refuse({ method, call }, access) {
      if (access === 'missing') return problem(401, 'token is required')
      if (access === 'revoked') return problem(401, 'user does not exist [uid: 0, name: ]')
      if (access === 'hidden') return problem(404, "The target couldn't be found.")
      if (access === 'read' && / webhooks?$/.test(call ?? ''))
        return problem(403, 'user should be an owner or a collaborator with admin write of a repository')
      if (access === 'read' && method !== 'GET')
        return problem(403, 'token does not have at least one of required scope(s): [write:repository]')
      return null
    },
    invalid: (_, message) => problem(422, message),
    unknown: problem(404, 'Not Found'),
    limitHeaders: () => ({}),
    limited: (window) => ({
      status: 429,
      headers: { 'retry-after': String(Math.ceil(window.resetAfter / 1_000)), 'content-type': 'text/html' },
      body: '<html><head><title>429 Too Many Requests</title></head></html>',
    }),
  })

  return {
    ...service,
    statuses,
    hooks,
    shown: (sha) =>
      Object.fromEntries(statuses.filter((one) => one.sha === sha).map((one) => [one.context, one.status])),
    set: (status) => {
      statuses.push({ id: ++ids, description: '', target_url: '', ...status })
    },
    rename: (from, to) => {
      repositories.set(from, { id: ++ids, name: to })
      for (const one of [...statuses, ...hooks.webhooks]) if (one.repository === from) one.repository = to
    },
  }
}

const problem = (status: number, message: string): Reply => ({
  status,
  body: { message, url: 'https://gitea.example.com/api/swagger' },
})
