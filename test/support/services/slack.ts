// Slack's Web API: messages that are posted and updated. It answers 200 to nearly everything; `ok` says what happened.
import { type Arrived, type Closer, type Json, type Reply, type Service, startService } from './service.ts'
import { PostMessage, UpdateMessage } from './slack-schemas.ts'

export type SlackMessage = {
  ts: string
  /** The id, also when the message was posted to a name. */
  channel: string
  text: string
  blocks: Json[]
  attachments: Json[]
  /** How often it was updated. */
  edits: number
}

export type Slack = Service & {
  /** In the order of their creation, without removed ones. */
  messages: SlackMessage[]
  remove(ts: string): void
  /** Channels by id and name. All exist, and the app is a member, unless a test says otherwise. */
  channel(name: string, state: 'absent' | 'not_in_channel' | 'is_archived'): void
}

/** `#deploys` and `deploys` are names; ids are upper-case. */
export const channelId = (channel: string) =>
  /^[CDG][A-Z0-9]{5,}$/.test(channel)
    ? channel
    : `C${Buffer.from(channel.replace(/^#/, '')).toString('hex').toUpperCase()}`

export async function startSlack(t: Closer): Promise<Slack> {
  const messages: SlackMessage[] = []
  const channels = new Map<string, string>()
  let sent = 0

  const contentOf = ({ text = '', blocks = [], attachments = [] }: Json) => ({ text, blocks, attachments })
  const isEmpty = ({ text, blocks, attachments }: Json) => !text && !blocks?.length && !attachments?.length

  function refusalOf(channel: string): Reply | null {
    const state = channels.get(channelId(channel))
    if (state === undefined) return null
    return failed(state === 'absent' ? 'channel_not_found' : state)
  }

  function post({ json }: Arrived): Reply {
    const refused = refusalOf(json.channel)
    if (refused) return refused
    if (isEmpty(json)) return failed('no_text')
    const ts = `${Math.floor(Date.now() / 1_000)}.${String(++sent).padStart(6, '0')}`
    const message = { ts, channel: channelId(json.channel), ...contentOf(json), edits: 0 }
    messages.push(message)
    return { status: 200, body: { ok: true, channel: message.channel, ts, message: contentOf(json) } }
  }

  function update({ json }: Arrived): Reply {
    const refused = refusalOf(json.channel)
    if (refused) return refused
    const message = messages.find(({ ts, channel }) => ts === json.ts && channel === json.channel)
    if (!message) return failed('message_not_found')
    if (isEmpty(json)) return failed('no_text')
    Object.assign(message, contentOf(json), { edits: message.edits + 1 })
    return { status: 200, body: { ok: true, channel: message.channel, ts: message.ts, text: message.text } }
  }

  const service = await startService(t, {
    name: 'Slack',
    calls: [
      { name: 'post', method: 'POST', path: /^\/api\/chat\.postMessage$/, body: PostMessage, perform: post },
      { name: 'update', method: 'POST', path: /^\/api\/chat\.update$/, body: UpdateMessage, perform: update },
      {
        name: 'auth test',
        method: 'POST',
        path: /^\/api\/auth\.test$/,
        perform: ({ headers }) => ({
          status: 200,
          body: {
            ok: true,
            url: `http://${headers.host}/`,
            team: 'Acme',
            team_id: 'T0001',
            user: 'gantry',
            user_id: 'U0001',
            bot_id: 'B0001',
          },
        }),
      },
    ],
    readToken: ({ authorization }) => /^Bearer (.+)$/i.exec(authorization ?? '')?.[1] ?? null,
    refuse({ call }, access) {
      if (access === 'missing') return failed('not_authed')
      if (access === 'revoked') return failed('invalid_auth')
      if (call === 'auth test') return null
      if (access === 'hidden') return failed('not_in_channel')
      if (access === 'read')
        return failed('missing_scope', { needed: 'chat:write', provided: 'channels:read' })
      return null
    },
    invalid: (_, problem) => failed('invalid_arguments', { response_metadata: { messages: [problem] } }),
    unknown: { status: 200, body: { ok: false, error: 'unknown_method' } },
    limitHeaders: () => ({}),
    limited: (window) => ({
      status: 429,
      headers: { 'retry-after': String(Math.ceil(window.resetAfter / 1_000)) },
      body: { ok: false, error: 'ratelimited' },
    }),
  })

  return {
    ...service,
    messages,
    remove: (ts) => {
      messages.splice(
        messages.findIndex((one) => one.ts === ts),
        1,
      )
    },
    channel: (name, state) => {
      channels.set(channelId(name), state)
    },
  }
}

const failed = (error: string, more: object = {}): Reply => ({
  status: 200,
  body: { ok: false, error, ...more },
})
