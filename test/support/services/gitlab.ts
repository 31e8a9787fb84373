// GitLab's API of commit statuses, with the transitions that it allows, and of project webhooks.
import { Type } from 'typebox'
import { createGitlabWebhooks } from './gitlab-webhooks.ts'
import { type Arrived, type Closer, type Reply, type Service, startService } from './service.ts'
import { pageOf } from './webhooks.ts'

const STATES = ['pending', 'running', 'success', 'failed', 'canceled', 'skipped']
const NewStatus = Type.Object(
  {
    state: Type.Union(STATES.map((one) => Type.Literal(one))),
    ref: Type.Optional(Type.String()),
    name: Type.Optional(Type.String({ minLength: 1, maxLength: 255 })),
    context: Type.Optional(Type.String({ minLength: 1, maxLength: 255 })),
    target_url: Type.Optional(Type.String({ pattern: '^https?://', maxLength: 255 })),
    description: Type.Optional(Type.String({ maxLength: 255 })),
    coverage: Type.Optional(Type.Number()),
    pipeline_id: Type.Optional(Type.Integer()),
  },
  { additionalProperties: false },
)

export type GitlabStatus = {
  id: number
  project: string
  sha: string
  status: string
  name: string
  description: string | null
  target_url: string | null
  allow_failure?: boolean
  ref?: string
}

export type Gitlab = Service & {
  /** In the order of their creation; one that has not ended changes its state. */
  statuses: GitlabStatus[]
  /** What GitLab shows for a commit, by name. */
  shown(sha: string): Record<string, string>
  set(status: Pick<GitlabStatus, 'project' | 'sha' | 'status' | 'name'> & Partial<GitlabStatus>): void
  /** GETs of the old path are redirected; everything else is rejected. */
  move(from: string, to: string): void
  hooks: Omit<ReturnType<typeof createGitlabWebhooks>, 'calls'>
}

/** The event of a state, and the states that it may follow. */
const TRANSITIONS: Record<string, { event: string; from: string[] }> = {
  pending: { event: 'enqueue', from: ['created'] },
  running: { event: 'run', from: ['created', 'pending'] },
  success: { event: 'success', from: ['created', 'pending', 'running'] },
  failed: { event: 'drop', from: ['created', 'pending', 'running'] },
  canceled: { event: 'cancel', from: ['created', 'pending', 'running'] },
  skipped: { event: 'skip', from: ['created', 'pending'] },
}

export async function startGitlab(t: Closer): Promise<Gitlab> {
  const statuses: GitlabStatus[] = []
  const moved = new Map<string, string>()
  let ids = 0
  const { calls: webhookCalls, ...hooks } = createGitlabWebhooks({ moved, nextId: () => ++ids })

  const isOpen = ({ status }: GitlabStatus) => status === 'pending' || status === 'running'

  /** Changes the status of that name that has not ended, or starts another one. */
  function createStatus({ params, json }: Arrived): Reply {
    const { project, sha } = params as { project: string; sha: string }
    if (moved.has(project)) return message(405, 'Non GET methods are not allowed for moved projects')
    if (!/^[0-9a-f]{40}$/.test(sha)) return message(404, '404 Commit Not Found')
    const name = json.name ?? json.context ?? 'default'
    const open = statuses.find(
      (one) => one.project === project && one.sha === sha && one.name === name && isOpen(one),
    )
    const { event, from } = TRANSITIONS[json.state]!
    const before = open?.status ?? 'created'
    if (!from.includes(before)) {
      const reason = `Reason(s): Status cannot transition via "${event}"`
      return message(400, `Cannot transition status via :${event} from :${before} (${reason})`)
    }
    const status = open ?? { id: ++ids, project, sha, status: '', name, description: null, target_url: null }
    status.status = json.state
    status.description = json.description ?? null
    status.target_url = json.target_url ?? null
    if (!open) statuses.push(status)
    return { status: 201, body: { ...status, ref: json.ref ?? 'main', author: { username: 'deployer' } } }
  }

  /** The newest of each name, unless all are asked for. */
  function listStatuses(request: Arrived): Reply {
    const { project, sha } = request.params as { project: string; sha: string }
    const target = moved.get(project)
    if (target) {
      const location = request.path.replace(/\/projects\/[^/]+/, `/projects/${encodeURIComponent(target)}`)
      return { status: 301, headers: { location: `http://${request.headers.host}${location}` }, body: '' }
    }
    const { name, all } = request.query
    const found = statuses.filter(
      (one) => one.project === project && one.sha === sha && (name === undefined || one.name === name),
    )
    const isNewest = (one: GitlabStatus) => found.findLast((other) => other.name === one.name) === one
    const shown = found.filter((one) => all === 'true' || isNewest(one))
    const entries = shown.map((one) => ({ ref: 'main', allow_failure: false, ...one }))
    return pageOf(entries, request, { size: 'per_page', max: 100, standard: 20 })
  }

  const service = await startService(t, {
    name: 'GitLab',
    calls: [
      {
        name: 'create status',
        method: 'POST',
        path: /^\/api\/v4\/projects\/(?<project>[^/]+)\/statuses\/(?<sha>[^/]+)$/,
        body: NewStatus,
        perform: createStatus,
      },
      {
        name: 'list statuses',
        method: 'GET',
        path: /^\/api\/v4\/projects\/(?<project>[^/]+)\/repository\/commits\/(?<sha>[^/]+)\/statuses$/,
        perform: listStatuses,
      },
      {
        name: 'user',
        method: 'GET',
        path: /^\/api\/v4\/user$/,
        perform: () => ({ status: 200, body: { id: 1, username: 'deployer' } }),
      },
      ...webhookCalls,
    ],
    readToken: (headers) =>
      headers['private-token'] ?? /^Bearer (.+)$/i.exec(headers.authorization ?? '')?.[1] ?? null,
    refuse({ method, call }, access) {
      if (access === 'missing' || access === 'revoked') return message(401, '401 Unauthorized')
      if (access === 'hidden') return message(404, '404 Project Not Found')
      // Only maintainers see webhooks.
      if (access === 'read' && (method !== 'GET' || / (webhooks?|events)$/.test(call ?? '')))
        return message(403, '403 Forbidden')
      return null
    },
    invalid: (_, problem) => ({ status: 400, body: { error: problem } }),
    unknown: { status: 404, body: { error: '404 Not Found' } },
    limitHeaders: (window) => ({
      'ratelimit-limit': String(window.limit),
      'ratelimit-name': 'throttle_authenticated_api',
      'ratelimit-observed': String(window.used),
      'ratelimit-remaining': String(window.remaining),
      'ratelimit-reset': String(window.resetAt),
    }),
    limited(window, kind) {
      const seconds = String(Math.ceil(window.resetAfter / 1_000))
      const headers = { ...this.limitHeaders(window, kind), 'retry-after': seconds }
      return { status: 429, headers, body: 'Retry later\n' }
    },
  })

  return {
    ...service,
    statuses,
    hooks,
    shown: (sha) =>
      Object.fromEntries(statuses.filter((one) => one.sha === sha).map((one) => [one.name, one.status])),
    set: (status) => {
      statuses.push({ id: ++ids, description: null, target_url: null, ...status })
    },
    move: (from, to) => {
      moved.set(from, to)
      for (const webhook of hooks.webhooks) if (webhook.project === from) webhook.project = to
    },
  }
}

const message = (status: number, text: string): Reply => ({ status, body: { message: text } })
