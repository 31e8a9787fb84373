// The catalog room: the services that Gantry knows as senders of calls and as receivers of deliveries, and the hook that
// each of them needs. Pages, the command line and the guides take them from here.
import type { IncomingHookBody, OutgoingHookBody } from '#model/hooks/schemas.ts'
import * as t from '#platform/http/schemas.ts'

const fieldSchema = t.Exactly({
  name: t.Text('The name in placeholders: `branch` for `<branch>`.'),
  label: t.Text('The name to show to people.'),
  description: t.Text('What to enter, and what happens without it.'),
  required: t.Flag('Whether the hook does not work without a value.'),
  default_value: t.TextOrNull('The value to suggest; null: none.'),
  example: t.TextOrNull('What a value looks like; null when the default value shows it.'),
  hidden: t.Flag('Whether the value is a secret: do not echo it.'),
})
export type CatalogField = t.Static<typeof fieldSchema>

const PLACEHOLDERS =
  '`<name>` in any of its strings means the value of that field. Leave out a property that uses a field without a value.'

const common = {
  code: t.Text('Identifies the entry; never changes.'),
  name: t.Text('The name of the service.'),
  description: t.Text('What the hook does, and what to know about the service.'),
  instructions: t.Text(
    'What to do at the service, one step per line, as plain text. `<url>` and `<secret>` mean those of the hook.',
  ),
  fields: t.List(fieldSchema, 'What to ask for.'),
}

export const senderSchema = t.namedObject('CatalogSender', {
  ...common,
  events: t.List(
    t.Text('The name of an event, as the service shows it.'),
    'The events to select at the service; empty when there is nothing to select.',
  ),
  secret_source: t.Unsafe<'gantry' | 'sender' | null>({
    type: ['string', 'null'],
    enum: ['gantry', 'sender', null],
    description:
      '`gantry`: enter the secret of the hook at the service. `sender`: the service shows its own, which is the field `secret`; it can be set later. Null: calls are not signed.',
  }),
  hook: t.Unsafe<IncomingHookBody>({
    type: 'object',
    additionalProperties: true,
    description: `The body of \`POST /pipelines/{id}/hooks/incoming\`. ${PLACEHOLDERS}`,
  }),
})
export type Sender = t.Static<typeof senderSchema>

export const receiverSchema = t.namedObject('CatalogReceiver', {
  ...common,
  uses_access_token: t.Flag(
    "Whether the hook sends the token of the application's credential. To save such a hook you need `credential:run`.",
  ),
  credential_provider: t.TextOrNull(
    "With a preset: the provider of the credential that it needs, as `credential_id` or as the application's. Null otherwise.",
  ),
  hook: t.Unsafe<OutgoingHookBody>({
    type: 'object',
    additionalProperties: true,
    description: `The body of \`POST /pipelines/{id}/hooks/outgoing\`. ${PLACEHOLDERS}`,
  }),
})
export type Receiver = t.Static<typeof receiverSchema>

export const catalogSchemas = [senderSchema, receiverSchema]
