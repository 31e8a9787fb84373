// Gitea's and Forgejo's repository webhooks, as its API describes them. A change ignores the secret, resets the branch filter
// and the authorization header, and replaces the events.
import { createHmac, randomUUID } from 'node:crypto'
import { Type } from 'typebox'
import type { Arrived, Call, Reply } from './service.ts'
import { type Deliver, deliverByFetch, type Push, pageOf } from './webhooks.ts'

const TYPES =
  'dingtalk discord gitea gogs msteams slack telegram feishu wechatwork packagist forgejo sourcehut_builds'.split(
    ' ',
  )
const common = {
  config: Type.Optional(Type.Record(Type.String(), Type.String())),
  events: Type.Optional(Type.Array(Type.String())),
  branch_filter: Type.Optional(Type.String()),
  authorization_header: Type.Optional(Type.String()),
  active: Type.Optional(Type.Boolean()),
}
const NewHook = Type.Object(
  {
    ...common,
    type: Type.Union(TYPES.map((one) => Type.Literal(one))),
    config: Type.Object(
      { url: Type.String(), content_type: Type.Union([Type.Literal('json'), Type.Literal('form')]) },
      { additionalProperties: Type.String() },
    ),
  },
  { additionalProperties: false },
)
const ChangedHook = Type.Object(common, { additionalProperties: false })

export type GiteaWebhook = {
  id: number
  repository: string
  type: string
  url: string
  content_type: string
  secret: string
  events: string[]
  active: boolean
  branch_filter: string
  authorization_header: string
}

type Deps = {
  at: (request: Arrived, perform: (repository: string) => Reply) => Reply
  nextId: () => number
}

export function createGiteaWebhooks({ at, nextId }: Deps) {
  const webhooks: GiteaWebhook[] = []
  let deliver: Deliver = deliverByFetch

  const shown = ({ id, type, url, content_type, events, active, ...hook }: GiteaWebhook) => ({
    id,
    type,
    branch_filter: hook.branch_filter,
    config: { content_type, url },
    events,
    authorization_header: hook.authorization_header,
    active,
    updated_at: '2026-01-01T00:00:00Z',
    created_at: '2026-01-01T00:00:00Z',
  })
  const one = (request: Arrived, perform: (hook: GiteaWebhook) => Reply): Reply =>
    at(request, (repository) => {
      const id = Number(request.params.hook)
      const hook = webhooks.find((one) => one.id === id && one.repository === repository)
      return hook ? perform(hook) : { status: 404, body: { message: "The target couldn't be found." } }
    })

  const REPO = '^/api/v1/repos/(?<owner>[^/]+)/(?<name>[^/]+)/hooks'
  const calls: Call[] = [
    {
      name: 'list webhooks',
      method: 'GET',
      path: new RegExp(`${REPO}$`),
      perform: (request) =>
        at(request, (repository) =>
          pageOf(webhooks.filter((one) => one.repository === repository).map(shown), request, {
            size: 'limit',
            max: 50,
            standard: 30,
          }),
        ),
    },
    {
      name: 'create webhook',
      method: 'POST',
      path: new RegExp(`${REPO}$`),
      body: NewHook,
      perform: (request) =>
        at(request, (repository) => {
          const { type, config, events = ['push'], active = false, ...more } = request.json
          const { branch_filter = '', authorization_header = '' } = more
          const { url, content_type, secret = '' } = config
          const texts = { branch_filter, authorization_header }
          const hook = { id: nextId(), repository, type, url, content_type, secret, events, active, ...texts }
          webhooks.push(hook)
          return { status: 201, body: shown(hook) }
        }),
    },
    {
      name: 'change webhook',
      method: 'PATCH',
      path: new RegExp(`${REPO}/(?<hook>\\d+)$`),
      body: ChangedHook,
      perform: (request) =>
        one(request, (hook) => {
          const { config = {}, events = ['push'], active, ...more } = request.json
          hook.url = config.url ?? hook.url
          hook.content_type = config.content_type ?? hook.content_type
          hook.events = events.length > 0 ? events : ['push']
          hook.active = active ?? hook.active
          hook.branch_filter = more.branch_filter ?? ''
          hook.authorization_header = more.authorization_header ?? ''
          return { status: 200, body: shown(hook) }
        }),
    },
    {
      name: 'remove webhook',
      method: 'DELETE',
      path: new RegExp(`${REPO}/(?<hook>\\d+)$`),
      perform: (request) =>
        one(request, (hook) => {
          webhooks.splice(webhooks.indexOf(hook), 1)
          return { status: 204, body: '' }
        }),
    },
  ]

  return {
    webhooks,
    calls,
    deliverTo(next: Deliver) {
      deliver = next
    },
    async push(repository: string, { ref, before, after }: Push): Promise<(number | null)[]> {
      const [owner, name] = repository.split('/')
      const body = JSON.stringify({
        ref,
        before,
        after,
        compare_url: '',
        commits: [],
        total_commits: 1,
        head_commit: { id: after, message: 'A change' },
        repository: { id: 1, name, full_name: repository, owner: { login: owner } },
        pusher: { login: 'dev' },
        sender: { login: 'dev' },
      })
      const wanted = webhooks.filter(
        (one) => one.repository === repository && one.active && one.events.includes('push'),
      )
      return Promise.all(
        wanted.map(({ url, secret }) => {
          const guid = randomUUID()
          const signature = createHmac('sha256', secret).update(body).digest('hex')
          return deliver({
            url,
            headers: {
              'content-type': 'application/json',
              'x-gitea-event': 'push',
              'x-gitea-delivery': guid,
              'x-gitea-signature': signature,
              'x-hub-signature-256': `sha256=${signature}`,
            },
            body,
          })
        }),
      )
    },
  }
}
