import * as t from '#platform/http/schemas.ts'
import { HOST_PROVIDERS } from './hosts.ts'
import { CONNECTION_STATES } from './judge.ts'

export const connectionSchema = t.namedObject('HookConnection', {
  state: t.Word(
    CONNECTION_STATES,
    '`connecting`: the webhook is about to be created or changed. `connected`: it exists, is active, and has the URL and the events of this hook. `missing`: it was deleted at the host, or could not be created. `changed`: it was changed there, or the repository has moved. `disabled`: it is switched off there, or the host suspended it. `forbidden`: the token, or the user who connected the hook, lacks a permission. `unreachable`: the host does not answer, or not sensibly.',
  ),
  provider: t.Word(HOST_PROVIDERS, 'The host of the repository; Forgejo is `gitea`.'),
  repository: t.Text('The repository that the webhook belongs to, such as `acme/shop`.'),
  events: t.List(
    t.Text('As the host names it, such as `push`.'),
    'The events that the webhook must send. It may send more.',
  ),
  settings_url: t.TextOrNull('The settings of the webhook at the host; null until it is known.'),
  problem: t.TextOrNull('What is wrong, and what to do about it; null while it is `connected`.'),
  checked_at: t.TimeOrNull('When the host was last asked; null before the first time.'),
  last_delivery_at: t.TimeOrNull(
    'When the last call came, a ping included; null: none that is still recorded.',
  ),
  disabled_until: t.TimeOrNull(
    'When the host tries a webhook again that it suspended; null if it says nothing.',
  ),
})
export type HookConnection = t.Static<typeof connectionSchema>

const eventName = t.Text({
  minLength: 1,
  maxLength: 64,
  pattern: '^(\\*|[a-z_]+)$',
  'x-hint': 'must be the name of an event, as the API of the host spells it',
})

export const connectBody = t.Exactly(
  {
    events: t.Optional(
      t.List(eventName, {
        minItems: 1,
        maxItems: 50,
        description:
          'The events to subscribe to, as the API of the host names them. Default: those of a connected hook, else pushes (`push`; GitLab: `push_events`).',
      }),
    ),
  },
  { title: 'ConnectHookRequest' },
)
export type ConnectBody = t.Static<typeof connectBody>
