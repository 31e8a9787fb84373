// Discord's API of messages, version 10.
import { type TSchema, Type } from 'typebox'
import { type Arrived, type Closer, type Json, type Reply, type Service, startService } from './service.ts'

const exactly = (properties: Record<string, TSchema>) =>
  Type.Object(properties, { additionalProperties: false })
const text = (maxLength: number) => Type.String({ maxLength })
const Url = Type.String({ pattern: '^https?://' })

const Embed = exactly({
  title: Type.Optional(text(256)),
  type: Type.Optional(Type.Literal('rich')),
  description: Type.Optional(text(4_096)),
  url: Type.Optional(Url),
  timestamp: Type.Optional(Type.String({ format: 'date-time' })),
  color: Type.Optional(Type.Integer({ minimum: 0, maximum: 0xffffff })),
  footer: Type.Optional(exactly({ text: text(2_048), icon_url: Type.Optional(Url) })),
  author: Type.Optional(exactly({ name: text(256), url: Type.Optional(Url), icon_url: Type.Optional(Url) })),
  fields: Type.Optional(
    Type.Array(
      exactly({
        name: Type.String({ minLength: 1, maxLength: 256 }),
        value: Type.String({ minLength: 1, maxLength: 1_024 }),
        inline: Type.Optional(Type.Boolean()),
      }),
      { maxItems: 25 },
    ),
  ),
})
const AllowedMentions = exactly({
  parse: Type.Optional(
    Type.Array(Type.Union(['roles', 'users', 'everyone'].map((one) => Type.Literal(one)))),
  ),
  roles: Type.Optional(Type.Array(Type.String())),
  users: Type.Optional(Type.Array(Type.String())),
  replied_user: Type.Optional(Type.Boolean()),
})
const content = {
  content: Type.Optional(text(2_000)),
  embeds: Type.Optional(Type.Array(Embed, { maxItems: 10 })),
  allowed_mentions: Type.Optional(AllowedMentions),
  flags: Type.Optional(Type.Integer()),
}
const NewMessage = exactly({
  ...content,
  tts: Type.Optional(Type.Boolean()),
  nonce: Type.Optional(Type.Union([Type.Integer(), Type.String({ maxLength: 25 })])),
  enforce_nonce: Type.Optional(Type.Boolean()),
})
const ChangedMessage = exactly(content)

export type DiscordMessage = {
  id: string
  channel_id: string
  content: string
  embeds: Json[]
  allowed_mentions: Json
  nonce: string | null
  /** How often it was changed. */
  edits: number
}

export type Discord = Service & {
  /** In the order of their creation, without removed ones. */
  messages: DiscordMessage[]
  remove(id: string): void
  /** Channels exist, and the bot may write in them, unless a test says otherwise. */
  channel(id: string, state: 'absent' | 'no access' | 'no permission'): void
}

/** As its documentation requires; clients without it may be blocked. */
const USER_AGENT = /^DiscordBot \(https?:\/\/[^\s,()]+, \d+(\.\d+)*[^\s()]*\)/

const CHANNEL = '^/api/v10/channels/(?<channel>\\d+)/messages'

export async function startDiscord(t: Closer): Promise<Discord> {
  const messages: DiscordMessage[] = []
  const channels = new Map<string, string>()
  let ids = 1_300_000_000_000_000_000n

  const contentOf = (json: Json) => ({
    content: json.content ?? '',
    embeds: json.embeds ?? [],
    allowed_mentions: json.allowed_mentions ?? null,
  })

  function refusalOf(channel: string): Reply | null {
    const state = channels.get(channel)
    if (state === 'absent') return problem(404, 10003, 'Unknown Channel')
    if (state === 'no access') return problem(403, 50001, 'Missing Access')
    if (state === 'no permission') return problem(403, 50013, 'Missing Permissions')
    return null
  }

  function create({ params, json }: Arrived): Reply {
    const channel = params.channel!
    const refused = refusalOf(channel)
    if (refused) return refused
    if (!json.content && !json.embeds?.length) return problem(400, 50006, 'Cannot send an empty message')
    const nonce = json.nonce === undefined ? null : String(json.nonce)
    // An enforced nonce of the past minutes returns the message that it made.
    const same = messages.find((one) => nonce !== null && one.nonce === nonce && one.channel_id === channel)
    if (json.enforce_nonce && same) return { status: 200, body: same }
    const message = { id: String(++ids), channel_id: channel, ...contentOf(json), nonce, edits: 0 }
    messages.push(message)
    return { status: 200, body: { ...message, type: 0, author: { id: '1', username: 'gantry', bot: true } } }
  }

  function change({ params, json }: Arrived): Reply {
    const refused = refusalOf(params.channel!)
    if (refused) return refused
    const message = messages.find(
      ({ id, channel_id }) => id === params.message && channel_id === params.channel,
    )
    if (!message) return problem(404, 10008, 'Unknown Message')
    Object.assign(message, contentOf({ ...message, ...json }), { edits: message.edits + 1 })
    return { status: 200, body: { ...message, type: 0, edited_timestamp: new Date().toISOString() } }
  }

  const service = await startService(t, {
    name: 'Discord',
    calls: [
      { name: 'create', method: 'POST', path: new RegExp(`${CHANNEL}$`), body: NewMessage, perform: create },
      {
        name: 'change',
        method: 'PATCH',
        path: new RegExp(`${CHANNEL}/(?<message>\\d+)$`),
        body: ChangedMessage,
        perform: change,
      },
      {
        name: 'user',
        method: 'GET',
        path: /^\/api\/v10\/users\/@me$/,
        perform: () => ({ status: 200, body: { id: '1', username: 'gantry', bot: true } }),
      },
    ],
    readToken: ({ authorization }) => /^Bot (.+)$/.exec(authorization ?? '')?.[1] ?? null,
    refuse({ call, headers }, access) {
      if (!USER_AGENT.test(headers['user-agent'] ?? '')) return problem(403, 40333, 'internal network error')
      if (access === 'missing' || access === 'revoked') return problem(401, 0, '401: Unauthorized')
      if (call === 'user') return null
      if (access === 'hidden') return problem(403, 50001, 'Missing Access')
      if (access === 'read') return problem(403, 50013, 'Missing Permissions')
      return null
    },
    invalid: (_, message) => ({
      status: 400,
      body: { code: 50035, message: 'Invalid Form Body', errors: { _errors: [{ message }] } },
    }),
    unknown: problem(404, 0, '404: Not Found'),
    limitHeaders: (window) => ({
      'x-ratelimit-limit': String(window.limit),
      'x-ratelimit-remaining': String(window.remaining),
      'x-ratelimit-reset': String(window.resetAt),
      'x-ratelimit-reset-after': (window.resetAfter / 1_000).toFixed(3),
      'x-ratelimit-bucket': 'abcd1234',
    }),
    limited(window, kind) {
      const global = kind === 'global'
      const retry_after = window.resetAfter / 1_000
      const headers = {
        'retry-after': String(Math.ceil(retry_after)),
        'x-ratelimit-scope': global ? 'global' : 'user',
        ...(global ? { 'x-ratelimit-global': 'true' } : this.limitHeaders(window, kind)),
      }
      return { status: 429, headers, body: { message: 'You are being rate limited.', retry_after, global } }
    },
  })

  return {
    ...service,
    messages,
    remove: (id) => {
      messages.splice(
        messages.findIndex((one) => one.id === id),
        1,
      )
    },
    channel: (id, state) => {
      channels.set(id, state)
    },
  }
}

const problem = (status: number, code: number, message: string): Reply => ({
  status,
  body: { message, code },
})
