// GitLab's project webhooks, as its API describes them. It suspends webhooks whose calls fail.
import { randomUUID } from 'node:crypto'
import { Type } from 'typebox'
import type { Arrived, Call, Reply } from './service.ts'
import { type Deliver, deliverByFetch, type Push, pageOf } from './webhooks.ts'

const EVENTS = [
  'confidential_issues_events',
  'confidential_note_events',
  'deployment_events',
  'feature_flag_events',
  'issues_events',
  'job_events',
  'merge_requests_events',
  'note_events',
  'pipeline_events',
  'push_events',
  'releases_events',
  'tag_push_events',
  'wiki_page_events',
]
const Hook = Type.Object(
  {
    url: Type.String({ minLength: 1 }),
    name: Type.Optional(Type.String()),
    description: Type.Optional(Type.String()),
    token: Type.Optional(Type.String()),
    enable_ssl_verification: Type.Optional(Type.Boolean()),
    push_events_branch_filter: Type.Optional(Type.String()),
    ...Object.fromEntries(EVENTS.map((event) => [event, Type.Optional(Type.Boolean())])),
  },
  { additionalProperties: false },
)

export type GitlabWebhook = {
  id: number
  project: string
  url: string
  token: string | undefined
  enable_ssl_verification: boolean
  push_events_branch_filter: string
  events: Set<string>
  alert_status: 'executable' | 'temporarily_disabled' | 'disabled'
  disabled_until: string | null
  failures: number
}
type HookEvent = { id: number; hookId: number; status: number; at: string }

/** As many failures in a row suspend a webhook. */
const MAX_FAILURES = 4

type Deps = {
  /** Where the project went, if it was moved. */
  moved: ReadonlyMap<string, string>
  nextId: () => number
}

export function createGitlabWebhooks({ moved, nextId }: Deps) {
  const webhooks: GitlabWebhook[] = []
  const events: HookEvent[] = []
  let deliver: Deliver = deliverByFetch

  const shown = (hook: GitlabWebhook) => ({
    id: hook.id,
    url: hook.url,
    name: null,
    description: null,
    project_id: 1,
    created_at: '2026-01-01T00:00:00Z',
    ...Object.fromEntries(EVENTS.map((event) => [event, hook.events.has(event)])),
    push_events_branch_filter: hook.push_events_branch_filter,
    enable_ssl_verification: hook.enable_ssl_verification,
    repository_update_events: false,
    alert_status: hook.alert_status,
    disabled_until: hook.disabled_until,
    url_variables: [],
    custom_headers: [],
  })

  function apply(hook: GitlabWebhook, json: Arrived['json']): Reply | null {
    const { url, token, enable_ssl_verification, push_events_branch_filter } = json
    const parsed = URL.parse(url)
    if (!parsed || !/^https?:$/.test(parsed.protocol))
      return { status: 422, body: { error: 'Invalid url given' } }
    if (/^(localhost|10\.|192\.168\.)/.test(parsed.hostname))
      return {
        status: 422,
        body: { message: { url: ['is blocked: Requests to the local network are not allowed'] } },
      }
    hook.url = url
    if (token !== undefined) hook.token = token
    hook.enable_ssl_verification = enable_ssl_verification ?? hook.enable_ssl_verification
    hook.push_events_branch_filter = push_events_branch_filter ?? hook.push_events_branch_filter
    for (const event of EVENTS)
      if (json[event] === true) hook.events.add(event)
      else if (json[event] === false) hook.events.delete(event)
    return null
  }

  function at(request: Arrived, perform: (project: string) => Reply): Reply {
    const project = request.params.project!
    const target = moved.get(project)
    if (!target) return perform(project)
    if (request.method !== 'GET')
      return { status: 405, body: { message: 'Non GET methods are not allowed for moved projects' } }
    const location = request.path.replace(/\/projects\/[^/]+/, `/projects/${encodeURIComponent(target)}`)
    return { status: 301, headers: { location: `http://${request.headers.host}${location}` }, body: '' }
  }

  const one = (request: Arrived, perform: (hook: GitlabWebhook) => Reply): Reply =>
    at(request, (project) => {
      const hook = webhooks.find((one) => one.id === Number(request.params.hook) && one.project === project)
      return hook ? perform(hook) : { status: 404, body: { message: '404 Not found' } }
    })

  const PATH = '^/api/v4/projects/(?<project>[^/]+)/hooks'
  const HOOK = `${PATH}/(?<hook>\\d+)`
  const calls: Call[] = [
    {
      name: 'list webhooks',
      method: 'GET',
      path: new RegExp(`${PATH}$`),
      perform: (request) =>
        at(request, (project) =>
          pageOf(webhooks.filter((one) => one.project === project).map(shown), request, {
            size: 'per_page',
            max: 100,
            standard: 20,
          }),
        ),
    },
    {
      name: 'create webhook',
      method: 'POST',
      path: new RegExp(`${PATH}$`),
      body: Hook,
      perform: (request) =>
        at(request, (project) => {
          const hook: GitlabWebhook = {
            id: nextId(),
            project,
            url: '',
            token: undefined,
            enable_ssl_verification: true,
            push_events_branch_filter: '',
            events: new Set(['push_events']),
            alert_status: 'executable',
            disabled_until: null,
            failures: 0,
          }
          const refused = apply(hook, request.json)
          if (refused) return refused
          webhooks.push(hook)
          return { status: 201, body: shown(hook) }
        }),
    },
    {
      name: 'change webhook',
      method: 'PUT',
      path: new RegExp(`${HOOK}$`),
      body: Hook,
      perform: (request) =>
        one(request, (hook) => apply(hook, request.json) ?? { status: 200, body: shown(hook) }),
    },
    {
      name: 'remove webhook',
      method: 'DELETE',
      path: new RegExp(`${HOOK}$`),
      perform: (request) =>
        one(request, (hook) => {
          webhooks.splice(webhooks.indexOf(hook), 1)
          return { status: 204, body: '' }
        }),
    },
    {
      name: 'list events',
      method: 'GET',
      path: new RegExp(`${HOOK}/events$`),
      perform: (request) =>
        one(request, ({ id }) => ({
          status: 200,
          body: events
            .filter((event) => event.hookId === id)
            .reverse()
            .slice(0, Number(request.query.per_page ?? 20))
            .map((event) => ({
              id: event.id,
              url: '[REDACTED]',
              trigger: 'push_hooks',
              request_headers: {},
              request_data: {},
              response_headers: { Date: new Date(event.at).toUTCString() },
              response_body: '',
              execution_duration: 0.1,
              response_status: String(event.status),
            })),
        })),
    },
  ]

  return {
    webhooks,
    calls,
    deliverTo(next: Deliver) {
      deliver = next
    },
    /** Suspended webhooks are not called; others are, once, and suspended after failures in a row. */
    async push(project: string, { ref, before, after }: Push): Promise<(number | null)[]> {
      const body = JSON.stringify({
        object_kind: 'push',
        event_name: 'push',
        before,
        after,
        ref,
        checkout_sha: /^0+$/.test(after) ? null : after,
        project_id: 1,
        project: { id: 1, path_with_namespace: project },
        commits: [],
        total_commits_count: 1,
        repository: { name: project.split('/').at(-1) },
      })
      const wanted = webhooks.filter(
        (one) =>
          one.project === project && one.events.has('push_events') && one.alert_status === 'executable',
      )
      return Promise.all(
        wanted.map(async (hook) => {
          const status = await deliver({
            url: hook.url,
            headers: {
              'content-type': 'application/json',
              'user-agent': 'GitLab/18.0.0',
              'idempotency-key': randomUUID(),
              'x-gitlab-event': 'Push Hook',
              'x-gitlab-event-uuid': randomUUID(),
              ...(hook.token !== undefined && { 'x-gitlab-token': hook.token }),
            },
            body,
          })
          events.push({ id: nextId(), hookId: hook.id, status: status ?? 0, at: new Date().toISOString() })
          hook.failures = status !== null && status < 400 ? 0 : hook.failures + 1
          if (hook.failures >= MAX_FAILURES) {
            hook.alert_status = 'temporarily_disabled'
            hook.disabled_until = new Date(Date.now() + 60_000).toISOString()
          }
          return status
        }),
      )
    },
  }
}
