// What Slack accepts in a message, as far as Gantry's messages need it: https://docs.slack.dev/reference/block-kit
import { type TSchema, Type } from 'typebox'

const exactly = (properties: Record<string, TSchema>) =>
  Type.Object(properties, { additionalProperties: false })
const text = (maxLength: number) => Type.String({ minLength: 1, maxLength })
const plainText = (maxLength: number) =>
  exactly({ type: Type.Literal('plain_text'), text: text(maxLength), emoji: Type.Optional(Type.Boolean()) })
const markdown = (maxLength: number) =>
  exactly({ type: Type.Literal('mrkdwn'), text: text(maxLength), verbatim: Type.Optional(Type.Boolean()) })
const anyText = (maxLength: number) => Type.Union([plainText(maxLength), markdown(maxLength)])
const id = { block_id: Type.Optional(Type.String({ maxLength: 255 })) }
const Url = Type.String({ pattern: '^https?://', maxLength: 3_000 })

const Button = exactly({
  type: Type.Literal('button'),
  text: plainText(75),
  url: Type.Optional(Url),
  action_id: Type.Optional(Type.String({ maxLength: 255 })),
  value: Type.Optional(Type.String({ maxLength: 2_000 })),
  style: Type.Optional(Type.Union([Type.Literal('primary'), Type.Literal('danger')])),
})
const Section = Type.Object(
  {
    type: Type.Literal('section'),
    ...id,
    text: Type.Optional(anyText(3_000)),
    fields: Type.Optional(Type.Array(anyText(2_000), { minItems: 1, maxItems: 10 })),
    accessory: Type.Optional(Button),
    expand: Type.Optional(Type.Boolean()),
  },
  { additionalProperties: false, anyOf: [{ required: ['text'] }, { required: ['fields'] }] },
)
const Header = exactly({ type: Type.Literal('header'), ...id, text: plainText(150) })
const Divider = exactly({ type: Type.Literal('divider'), ...id })
const Context = exactly({
  type: Type.Literal('context'),
  ...id,
  elements: Type.Array(anyText(2_000), { minItems: 1, maxItems: 10 }),
})
const Actions = exactly({
  type: Type.Literal('actions'),
  ...id,
  elements: Type.Array(Button, { minItems: 1, maxItems: 25 }),
})
const Blocks = Type.Array(Type.Union([Section, Header, Divider, Context, Actions]), { maxItems: 50 })

const Attachment = exactly({
  color: Type.Optional(Type.String({ pattern: '^(#[0-9a-fA-F]{6}|good|warning|danger)$' })),
  fallback: Type.Optional(Type.String()),
  blocks: Type.Optional(Blocks),
  text: Type.Optional(Type.String()),
  title: Type.Optional(Type.String()),
  title_link: Type.Optional(Url),
  footer: Type.Optional(Type.String({ maxLength: 300 })),
})

const message = {
  text: Type.Optional(Type.String({ maxLength: 40_000 })),
  blocks: Type.Optional(Blocks),
  attachments: Type.Optional(Type.Array(Attachment, { maxItems: 100 })),
  link_names: Type.Optional(Type.Boolean()),
  parse: Type.Optional(Type.Union([Type.Literal('none'), Type.Literal('full')])),
  metadata: Type.Optional(exactly({ event_type: Type.String(), event_payload: Type.Object({}) })),
}

export const PostMessage = exactly({
  channel: Type.String({ minLength: 1 }),
  ...message,
  thread_ts: Type.Optional(Type.String()),
  unfurl_links: Type.Optional(Type.Boolean()),
  unfurl_media: Type.Optional(Type.Boolean()),
  mrkdwn: Type.Optional(Type.Boolean()),
})

/** An update needs the id of the channel: names are not accepted. */
export const UpdateMessage = exactly({
  channel: Type.String({ pattern: '^[CDG][A-Z0-9]+$' }),
  ts: Type.String({ pattern: '^[0-9]+\\.[0-9]{6}$' }),
  ...message,
})
