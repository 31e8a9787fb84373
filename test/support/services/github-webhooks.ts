// GitHub's repository webhooks and their deliveries, as its REST API describes them.
import { createHmac, randomUUID } from 'node:crypto'
import { Type } from 'typebox'
import type { Arrived, Call, Json, Reply } from './service.ts'
import { type Deliver, deliverByFetch, type Push, pageOf } from './webhooks.ts'

const Config = Type.Object(
  {
    url: Type.String({ format: 'uri' }),
    content_type: Type.Optional(Type.Union([Type.Literal('json'), Type.Literal('form')])),
    secret: Type.Optional(Type.String()),
    insecure_ssl: Type.Optional(Type.Union(['0', '1', 0, 1].map((one) => Type.Literal(one)))),
  },
  { additionalProperties: false },
)
const common = {
  events: Type.Optional(Type.Array(Type.String({ pattern: '^(\\*|[a-z_]+)$' }))),
  active: Type.Optional(Type.Boolean()),
}
const NewHook = Type.Object(
  { name: Type.Optional(Type.Literal('web')), config: Config, ...common },
  { additionalProperties: false },
)
const ChangedHook = Type.Object(
  {
    config: Type.Optional(Config),
    ...common,
    add_events: common.events,
    remove_events: common.events,
  },
  { additionalProperties: false },
)

export type GithubWebhook = {
  id: number
  repository: string
  active: boolean
  events: string[]
  config: { url: string; content_type: string; insecure_ssl: string; secret?: string }
}
export type GithubDelivery = {
  id: number
  hookId: number
  guid: string
  delivered_at: string
  redelivery: boolean
  status_code: number
  event: string
  payload: Json
}

/** Of one event, a repository has at most as many. */
const MAX_OF_AN_EVENT = 20

type Deps = {
  at: (request: Arrived, perform: (repository: string) => Reply) => Reply
  path: (rest: string) => RegExp
  nextId: () => number
  problem: (status: number, message: string) => Reply
}

export function createGithubWebhooks({ at, path, nextId, problem }: Deps) {
  const webhooks: GithubWebhook[] = []
  const deliveries: GithubDelivery[] = []
  let deliver: Deliver = deliverByFetch
  /** Pings and repeated deliveries that are under way. */
  const sending = new Set<Promise<unknown>>()

  const shown = ({ repository, config, ...hook }: GithubWebhook, { headers }: Arrived) => ({
    type: 'Repository',
    name: 'web',
    ...hook,
    config: { ...config, ...(config.secret !== undefined && { secret: '********' }) },
    updated_at: '2026-01-01T00:00:00Z',
    created_at: '2026-01-01T00:00:00Z',
    url: `http://${headers.host}/repos/${repository}/hooks/${hook.id}`,
    test_url: `http://${headers.host}/repos/${repository}/hooks/${hook.id}/test`,
    ping_url: `http://${headers.host}/repos/${repository}/hooks/${hook.id}/pings`,
    deliveries_url: `http://${headers.host}/repos/${repository}/hooks/${hook.id}/deliveries`,
    last_response: { code: null, status: 'unused', message: null },
  })
  const rejected = (message: string): Reply => ({
    status: 422,
    body: {
      message: 'Validation Failed',
      errors: [{ resource: 'Hook', code: 'custom', message }],
      documentation_url: 'https://docs.github.com/rest',
    },
  })

  function addressProblem(url: string): Reply | null {
    const { hostname } = new URL(url)
    if (!/^(localhost|10\.|192\.168\.)/.test(hostname)) return null
    return rejected(`url is not supported because it isn't reachable over the public Internet (${hostname})`)
  }

  function create(repository: string, request: Arrived): Reply {
    const { config, events = ['push'], active = true } = request.json
    const refused = addressProblem(config.url)
    if (refused) return refused
    const here = webhooks.filter((one) => one.repository === repository)
    if (here.some((one) => one.config.url === config.url))
      return rejected('Hook already exists on this repository')
    for (const event of events)
      if (here.filter((one) => one.events.includes(event)).length >= MAX_OF_AN_EVENT)
        return rejected(`The "${event}" event cannot have more than ${MAX_OF_AN_EVENT} hooks`)
    const standard = { content_type: 'form', insecure_ssl: '0' }
    const hook = { id: nextId(), repository, active, events, config: { ...standard, ...config } }
    webhooks.push(hook)
    if (active) {
      const ping = { zen: 'Design for failure.', hook_id: hook.id, hook: shown(hook, request) }
      // After the answer, as the real one.
      const sent = new Promise(setImmediate).then(() => send(hook, 'ping', ping))
      sending.add(sent)
      void sent.finally(() => sending.delete(sent))
    }
    return { status: 201, body: shown(hook, request) }
  }

  function change(hook: GithubWebhook, request: Arrived): Reply {
    const { config, events, active, add_events = [], remove_events = [] } = request.json
    const refused = config && addressProblem(config.url)
    if (refused) return refused
    // A new configuration replaces the old one, the secret included.
    if (config) hook.config = { content_type: 'form', insecure_ssl: '0', ...config }
    hook.events = [...(events ?? hook.events), ...add_events].filter((one) => !remove_events.includes(one))
    hook.active = active ?? hook.active
    return { status: 200, body: shown(hook, request) }
  }

  async function send(hook: GithubWebhook, event: string, payload: Json, guid: string = randomUUID()) {
    const { config } = hook
    const json = JSON.stringify(payload)
    const isForm = config.content_type === 'form'
    const body = isForm ? new URLSearchParams({ payload: json }).toString() : json
    const signed = (algorithm: string) =>
      createHmac(algorithm, config.secret ?? '')
        .update(body)
        .digest('hex')
    const delivery: GithubDelivery = {
      id: nextId(),
      hookId: hook.id,
      guid,
      delivered_at: new Date().toISOString(),
      redelivery: deliveries.some((one) => one.guid === guid),
      status_code: 0,
      event,
      payload,
    }
    deliveries.push(delivery)
    const status = await deliver({
      url: config.url,
      headers: {
        'user-agent': 'GitHub-Hookshot/abc1234',
        'content-type': isForm ? 'application/x-www-form-urlencoded' : 'application/json',
        'x-github-event': event,
        'x-github-delivery': guid,
        'x-github-hook-id': String(hook.id),
        ...(config.secret !== undefined && {
          'x-hub-signature': `sha1=${signed('sha1')}`,
          'x-hub-signature-256': `sha256=${signed('sha256')}`,
        }),
      },
      body,
    })
    delivery.status_code = status ?? 0
    return status
  }

  /** Of one webhook, by its own id or that of a delivery. */
  const oneDelivery = (request: Arrived, perform: (hook: GithubWebhook, delivery: GithubDelivery) => Reply) =>
    one(request, (hook) => {
      const id = Number(request.params.delivery)
      const delivery = deliveries.find((one) => one.id === id && one.hookId === hook.id)
      return delivery ? perform(hook, delivery) : problem(404, 'Not Found')
    })

  const shownDelivery = ({ hookId: _, payload: __, ...delivery }: GithubDelivery) => ({
    ...delivery,
    duration: 0.1,
    status: delivery.status_code === 0 ? 'failed to connect to host' : 'OK',
    action: null,
    installation_id: null,
    repository_id: 1,
    throttled_at: null,
  })

  /** Without the permission, webhooks are hidden: 404. */
  const one = (request: Arrived, perform: (hook: GithubWebhook) => Reply): Reply =>
    at(request, (repository) => {
      const id = Number(request.params.hook)
      const hook = webhooks.find((one) => one.id === id && one.repository === repository)
      return hook ? perform(hook) : problem(404, 'Not Found')
    })

  const HOOK = '/hooks/(?<hook>\\d+)'
  const calls: Call[] = [
    {
      name: 'list webhooks',
      method: 'GET',
      path: path('/hooks'),
      perform: (request) =>
        at(request, (repository) => {
          const here = webhooks.filter((one) => one.repository === repository)
          const size = { size: 'per_page', max: 100, standard: 30 }
          return pageOf(
            here.map((hook) => shown(hook, request)),
            request,
            size,
          )
        }),
    },
    {
      name: 'create webhook',
      method: 'POST',
      path: path('/hooks'),
      body: NewHook,
      perform: (request) => at(request, (repository) => create(repository, request)),
    },
    {
      name: 'change webhook',
      method: 'PATCH',
      path: path(HOOK),
      body: ChangedHook,
      perform: (request) => one(request, (hook) => change(hook, request)),
    },
    {
      name: 'remove webhook',
      method: 'DELETE',
      path: path(HOOK),
      perform: (request) =>
        one(request, (hook) => {
          webhooks.splice(webhooks.indexOf(hook), 1)
          return { status: 204, body: '' }
        }),
    },
    {
      name: 'list deliveries',
      method: 'GET',
      path: path(`${HOOK}/deliveries`),
      perform: (request) =>
        one(request, (hook) => {
          const newest = deliveries.filter(({ hookId }) => hookId === hook.id).reverse()
          const after = newest.findIndex(({ id }) => String(id) === request.query.cursor) + 1
          const size = Math.min(100, Number(request.query.per_page ?? 30))
          const body = newest.slice(after, after + size).map(shownDelivery)
          const last = body.at(-1)
          const hasMore = newest.length > after + size
          const next = `http://${request.headers.host}${request.path}?per_page=${size}&cursor=${last?.id}`
          return { status: 200, ...(hasMore && { headers: { link: `<${next}>; rel="next"` } }), body }
        }),
    },
    {
      name: 'show delivery',
      method: 'GET',
      path: path(`${HOOK}/deliveries/(?<delivery>\\d+)`),
      perform: (request) =>
        oneDelivery(request, (hook, delivery) => ({
          status: 200,
          body: {
            ...shownDelivery(delivery),
            url: hook.config.url.replace(/hooks\/.*/, ''),
            request: { headers: { 'X-GitHub-Delivery': delivery.guid }, payload: delivery.payload },
            response: { headers: {}, payload: null },
          },
        })),
    },
    {
      name: 'redeliver',
      method: 'POST',
      path: path(`${HOOK}/deliveries/(?<delivery>\\d+)/attempts`),
      perform: (request) =>
        oneDelivery(request, (hook, { event, payload, guid }) => {
          const sent = new Promise(setImmediate).then(() => send(hook, event, payload, guid))
          sending.add(sent)
          void sent.finally(() => sending.delete(sent))
          return { status: 202, body: {} }
        }),
    },
  ]

  return {
    webhooks,
    deliveries,
    calls,
    /** Calls go there instead. */
    deliverTo(next: Deliver) {
      deliver = next
    },
    /** Waits for pings and repeated deliveries that are under way. */
    async settled() {
      while (sending.size > 0) await Promise.all(sending)
    },
    /** Something else happens; every webhook that wants to know is called, once. */
    async happen(repository: string, event: string, payload: Json): Promise<(number | null)[]> {
      const wanted = webhooks.filter(
        (one) =>
          one.repository === repository &&
          one.active &&
          one.events.some((name) => [event, '*'].includes(name)),
      )
      return Promise.all(wanted.map((hook) => send(hook, event, payload)))
    },
    /** Someone pushes: every webhook that wants to know is called, once. */
    async push(repository: string, { ref, before, after }: Push): Promise<(number | null)[]> {
      const [owner, name] = repository.split('/')
      const payload = {
        ref,
        before,
        after,
        created: /^0+$/.test(before),
        deleted: /^0+$/.test(after),
        forced: false,
        base_ref: null,
        compare: `https://github.com/${repository}/compare/${before}...${after}`,
        commits: [],
        head_commit: { id: after, message: 'A change', timestamp: new Date().toISOString() },
        repository: { id: 1, name, full_name: repository, owner: { login: owner } },
        pusher: { name: 'dev', email: 'dev@example.com' },
        sender: { login: 'dev' },
      }
      return this.happen(repository, 'push', payload)
    },
  }
}
