// The hooks room: incoming and outgoing hooks in the API. What a hook does with a call or an event is in
// engine/incoming and engine/outgoing.
import { userSchema } from '#access/accounts/user-schema.ts'
import { connectionSchema } from '#model/connections/schema.ts'
import { pollStatusSchema } from '#model/connections/stored-polls.ts'
import { EVENT_KINDS } from '#model/events/event-kinds.ts'
import { MAX_GLOB_LENGTH } from '#model/payload/glob.ts'
import * as t from '#platform/http/schemas.ts'
import { OPERATIONS, type Operation, RESOURCE_TYPES } from '#platform/vocabulary.ts'
import { hookHealthSchema } from './health.ts'
import { presetSchema } from './presets/schema.ts'
import { SCHEME_DESCRIPTIONS, SCHEME_NAMES } from './signature-schemes.ts'

export const ALGORITHMS = ['sha256', 'sha512', 'sha384', 'sha1'] as const
const VARIABLE_TYPES = ['string', 'integer', 'boolean', 'array'] as const
const METHODS = ['POST', 'PUT', 'PATCH', 'DELETE', 'GET'] as const
const CAPTURED_TYPES = ['string', 'integer', 'boolean'] as const

const headerPattern = "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$"
const headerName = (more: object = {}) =>
  t.Text({
    minLength: 1,
    maxLength: 256,
    pattern: headerPattern,
    'x-hint': 'must be a valid header name: letters, digits and -',
    ...more,
  })

const flag = (standard: boolean, description: string) => t.Flag({ default: standard, description })

const name = t.Name(60, 'The name of the hook.')
const active = flag(true, 'Whether the hook works: calls to a disabled one get 404, and it sends nothing.')
const actionType = (description: string) => t.Word(Object.keys(OPERATIONS) as Operation[], { description })
const path = t.Text({
  maxLength: 512,
  description: 'Path of the value: `a.b.0.c`, `a["x.y"]`, `a\\.b`.',
})

const values = (description: string) => t.List(t.Anything(), { minItems: 1, maxItems: 100, description })

/** Which fields go together: manage/hooks/validate-conditions.ts. */
const singleCondition = t.optionalFields({
  path,
  header: headerName({
    description:
      'Instead of `path`, for incoming hooks: the name of a header, in any case. Not one that carries a secret, such as `Authorization`.',
  }),
  equals: t.Anything('The value is this one, compared exactly, as JSON.'),
  one_of: values('The value is any of these, compared exactly, as JSON.'),
  matches: t.Text({
    minLength: 1,
    maxLength: MAX_GLOB_LENGTH,
    description:
      'The value is text that matches this glob: `*` and `?` stop at `/`, `**` does not; `{a,b}`; `\\` escapes.',
  }),
  exists: t.Flag('Whether there is a value; null counts as none.'),
  accepted_values: values('The same as `one_of`.'),
  not: flag(false, 'Reverses the condition: an absent value meets it, too.'),
})
const singleConditionSchema = t.namedObject('HookSingleCondition', singleCondition)
const conditionSchema = t.namedObject('HookCondition', {
  ...singleCondition,
  any_of: t.Optional(
    t.List(t.ref(singleConditionSchema), {
      minItems: 1,
      maxItems: 20,
      description: 'Instead of all other fields: a group of conditions, one of which must match.',
    }),
  ),
})
export type HookCondition = t.Static<typeof conditionSchema>

const conditions = t.List(t.ref(conditionSchema), {
  maxItems: 50,
  description:
    'All must match. Each has `path` or `header` and one of `equals`, `one_of`, `matches`, `exists` and `accepted_values`, or is a group (`any_of`). At most 100 in all, those in groups included; all `matches` together have at most 2,048 characters.',
})

const paths = t.List(t.Text({ minLength: 1, maxLength: MAX_GLOB_LENGTH + 1 }), {
  maxItems: 100,
  description:
    'For pipelines that deploy: globs of files, relative to the root of the repository. A run starts only if a file changed since what is live matches; otherwise it ends as `SKIPPED_UNCHANGED`. `!` excludes; the last glob that matches a file decides. Empty: no restriction.',
})

const variableSchema = t.namedObject('HookVariable', {
  name: t.Text({
    pattern: '^[A-Za-z_][A-Za-z0-9_-]{0,63}$',
    'x-hint': 'must start with a letter or _, followed by letters, digits, _ or -, at most 64 characters',
    description: 'Unique in the hook, ignoring case. Steps get it as `GANTRY_VAR_<NAME>`.',
  }),
  path: t.Optional(
    t.TextOrNull({
      maxLength: 512,
      description: 'Path of the value in the payload. Absent or null: the top-level key `name`.',
    }),
  ),
  type: t.Word(VARIABLE_TYPES, 'What the value must be.'),
  required: t.Flag('Whether a call without a value and without a default is rejected.'),
  default_value: t.Optional(
    t.Anything('Used when the payload has no value. Of the declared type; null means none.'),
  ),
})
export type HookVariable = t.Static<typeof variableSchema>

const headerOrNull = (description: string) =>
  t.TextOrNull({ maxLength: 256, pattern: headerPattern, description })

const signatureSchema = t.namedObject('HookSignature', {
  scheme: t.Word(SCHEME_NAMES, SCHEME_DESCRIPTIONS),
  ...t.optionalFields({
    template: t.TextOrNull({
      maxLength: 200,
      description: 'For `timestamp`: what is signed, such as `{timestamp}.{body}`.',
    }),
    timestamp_header: headerOrNull('For `timestamp`; absent: a `t=` field of the signature header.'),
    id_header: headerOrNull('For `timestamp`: fills `{id}` in the template.'),
  }),
})

const calls = (description: string) => t.Integer({ minimum: 1, maximum: 1_000_000, description })
const rateLimit = t.Exactly(
  {
    per_second: calls('Calls per second, on average.'),
    burst: calls('Calls that may come at the same time.'),
  },
  { description: 'Calls beyond it get 429. Default: 1000 per second, 2000 at the same time.' },
)

const poll = t.Exactly(
  t.optionalFields({
    refs: t.List(t.Text({ minLength: 1, maxLength: 255, description: 'The name of a branch.' }), {
      minItems: 1,
      maxItems: 20,
      uniqueItems: true,
      description: "The branches to watch. Default: the application's.",
    }),
    every_seconds: t.Integer({
      minimum: 30,
      maximum: 86_400,
      default: 60,
      description: 'How often the repository is asked.',
    }),
  }),
  {
    description:
      "For hosts that cannot reach Gantry, and hooks of applications: Gantry asks the repository, and each new commit of a branch is a call, in the format of the credential's provider, else GitHub's. Not together with a connection. Absent: no polling.",
  },
)

export const incomingHookBody = t.Exactly({
  name,
  ...t.optionalFields({
    active,
    requires_secret: flag(false, 'Whether calls must be signed.'),
    secret_algorithm: t.Word(ALGORITHMS, {
      default: 'sha256',
      description: 'The hash function of the signature.',
    }),
    secret_header_name: headerName({
      default: 'X-Hub-Signature-256',
      description:
        'The header that carries the signature. Not one that HTTP clients and proxies set: `Host`, `Content-Type`, `Content-Length`, `Content-Encoding`, `Transfer-Encoding`, `Connection`, `Cookie`, `Date`, `User-Agent`, `Accept*`, `Forwarded`, `X-Forwarded-*`.',
    }),
    secret: t.Text({
      minLength: 16,
      maxLength: 255,
      description: 'For senders that dictate the secret; generated by default.',
    }),
    action_type: actionType("Must equal the pipeline's operation, which is the default."),
    settings: t.Exactly(
      t.optionalFields({
        variables: t.List(t.ref(variableSchema), {
          maxItems: 100,
          description: 'The values that it reads from the payload, for steps and templates.',
        }),
        signature: t.ref(signatureSchema, 'How calls are signed. Default: scheme `body`.'),
        rate_limit: rateLimit,
        poll,
      }),
      { description: 'How the hook reads calls.' },
    ),
    connect: t.Flag(
      "Whether Gantry creates the webhook at the repository's host and watches it, with the application's credential (GitHub, GitLab, Gitea, Forgejo; `credential:run`). The hook is saved even if the host refuses: see `connection`. In a change, true connects a hook that is not connected, and false disconnects it.",
    ),
    trigger_when: t.Exactly(
      { conditions: t.Optional(conditions), paths: t.Optional(paths) },
      { description: 'Which calls start a run. Default: every call.' },
    ),
  }),
})
export type IncomingHookBody = t.Static<typeof incomingHookBody>

const headerValue = t.Text({
  maxLength: 4096,
  pattern: '^[^\\r\\n\\x00]*$',
  'x-hint': 'must not contain line breaks',
  description: 'The value; may contain templates.',
})

const targetUrl = (description: string) =>
  t.Text({
    maxLength: 2048,
    pattern: '^https?://\\S',
    'x-hint': 'must begin with http:// or https://',
    description,
  })
const contents = t.optionalFields({
  request_headers: t.List(
    t.Exactly({ name: headerName({ description: 'The name of the header.' }), value: headerValue }),
    { maxItems: 50, description: 'Headers in addition to those that Gantry sends.' },
  ),
  request_body: t.AnyObjectOrNull(
    'Sent as JSON; its texts may contain templates. Absent or null: `{event, action}`.',
  ),
})
const requestMethod = t.Optional(
  t.Word(METHODS, { default: 'POST', description: 'The HTTP method of the request.' }),
)

/** Which fields go together: manage/hooks/validate-requests.ts. */
const captureSchema = t.namedObject('HookCapture', {
  name: t.Text({
    pattern: '^(?!(first|last|size)$)[A-Za-z_][A-Za-z0-9_]{0,63}$',
    'x-portable-pattern': '^[A-Za-z_][A-Za-z0-9_]{0,63}$',
    'x-hint':
      'must start with a letter or _, followed by letters, digits or _, at most 64 characters; not first, last or size',
    description: 'Unique in the hook, ignoring case. Templates use it as `captured.<name>`.',
  }),
  ...t.optionalFields({
    path: t.Text({
      maxLength: 512,
      description: 'Path of the value in an answer that is JSON, such as `a.b.0.c`.',
    }),
    header: headerName({ description: 'Instead of `path`: the name of a header of the answer.' }),
    type: t.Word(CAPTURED_TYPES, { default: 'string', description: 'What the value must be.' }),
    required: flag(
      true,
      'Whether an answer without the value is reported (`capture_error`). With `requests`: whether `create` is sent until it is known.',
    ),
    hidden: flag(false, 'Whether it is a secret: encrypted, and masked wherever it is shown.'),
  }),
})
export type HookCapture = t.Static<typeof captureSchema>

const requestSchema = t.namedObject('HookRequestTemplate', {
  method: requestMethod,
  target_url: targetUrl('The URL to call. Path, query and fragment may contain templates.'),
  ...contents,
})
export type HookRequestTemplate = t.Static<typeof requestSchema>

const requests = t.Exactly(
  {
    create: t.ref(requestSchema, 'Sent until all required values are captured.'),
    update: t.ref(requestSchema, 'Sent from then on. May contain `captured.<name>`.'),
    update_after_create: t.Optional(
      flag(
        false,
        'Whether the event that was reported by `create` is reported by `update` as well, right after it.',
      ),
    ),
  },
  {
    description:
      'Two requests instead of one: the first for an action creates something at the receiver, later ones update it. Excludes `request_headers`, `request_body` and `request_method`; requires a `capture` that is required.',
  },
)

export const outgoingHookBody = t.Exactly({
  name,
  ...t.optionalFields({
    active,
    action_type: actionType(
      "The type of actions it notifies about; default: the pipeline's operation. Another one needs `trigger_when.scope` to be `resource`.",
    ),
    target_url: targetUrl(
      'The URL to call. Path, query and fragment may contain templates. With `settings.requests`, that of `create`.',
    ),
    verify_ssl: flag(true, 'Whether the certificate of the receiver must be valid.'),
    credential_id: t.described(
      t.IdOrNull,
      "The credential whose token is `credential.access_token` in templates; null: that of the application. Its token is sent only to its provider's own origins and to that of its `base_url`. Needs `credential:run`.",
    ),
    settings: t.Exactly(
      {
        ...contents,
        request_method: requestMethod,
        ...t.optionalFields({
          capture: t.List(t.ref(captureSchema), {
            maxItems: 20,
            description:
              'Values of 2xx answers, at most 4 KiB each, for later requests of the same action and hook. At most 256 KiB of an answer are read.',
          }),
          requests,
          preset: t.ref(
            presetSchema,
            'The requests to a service that Gantry knows, instead of your own: excludes `target_url` and everything else of the request.',
          ),
          timeout_seconds: t.Integer({
            minimum: 1,
            maximum: 30,
            default: 15,
            description: 'How many seconds the receiver has to respond.',
          }),
        }),
      },
      { description: 'The request that it sends.' },
    ),
    trigger_when: t.Exactly(
      t.optionalFields({
        events: t.List(t.Word(EVENT_KINDS), {
          minItems: 1,
          uniqueItems: true,
          description:
            'The events that it reports. Default: `action.status_changed`; with a preset, each status once, and what happens at gates.',
        }),
        conditions,
        scope: t.Word(['pipeline', 'resource'] as const, {
          default: 'pipeline',
          description: 'Whose actions it reports: of its pipeline, or of all pipelines of its resource.',
        }),
      }),
      { description: 'Which events it reports.' },
    ),
  }),
})
export type OutgoingHookBody = t.Static<typeof outgoingHookBody>

/** A change takes the fields of creation; each given field replaces the stored one entirely. */
export const incomingHookChange = t.Exactly({ ...incomingHookBody.properties, name: t.Optional(name) })
export type IncomingHookChange = t.Static<typeof incomingHookChange>

export const outgoingHookChange = t.Exactly({
  ...outgoingHookBody.properties,
  name: t.Optional(name),
})
export type OutgoingHookChange = t.Static<typeof outgoingHookChange>

export const rotateSecretBody = t.Exactly(
  {
    overlap_seconds: t.Optional(
      t.Integer({
        minimum: 0,
        maximum: 2_592_000,
        default: 86_400,
        description: 'For how long the previous secret stays valid.',
      }),
    ),
  },
  { title: 'RotateSecretRequest' },
)

const booleanOrNull = (description: string) =>
  t.Unsafe<boolean | null>({ type: ['boolean', 'null'], description })

export const hookSchema = t.namedObject('Hook', {
  id: t.described(t.Uuid, 'The id of the hook.'),
  name: t.Text('The name of the hook.'),
  type: t.Word(
    ['incoming', 'outgoing'] as const,
    '`incoming`: a URL that starts runs. `outgoing`: a request that reports on runs.',
  ),
  action_type: t.Text('The type of actions that it starts or reports.'),
  active: t.Flag('Whether the hook works.'),
  url: t.TextOrNull(
    'The URL to call; null for outgoing hooks. After creation, masked for callers without `hook:edit`.',
  ),
  target_url: t.TextOrNull(
    'The URL that is called; null for incoming hooks. After creation, callers without `hook:edit` see only its scheme and host.',
  ),
  requires_secret: booleanOrNull('Whether calls must be signed; null for outgoing hooks.'),
  verify_ssl: booleanOrNull(
    'Whether the certificate of the receiver must be valid; null for incoming hooks.',
  ),
  credential_id: t.described(
    t.IdOrNull,
    'The credential whose token it sends; null: that of the application. Always null for incoming hooks.',
  ),
  secret: t.TextOrNull('Plain in the response that created it, `********` afterward; null without one.'),
  secret_algorithm: t.TextOrNull(
    'The hash function of the signature; null without a secret, and for outgoing hooks.',
  ),
  secret_header_name: t.TextOrNull(
    'The header that carries the signature; null without a secret, and for outgoing hooks.',
  ),
  settings: t.AnyObject('The settings with their defaults, as for creating a hook of its type.'),
  effective_settings: t.AnyObjectOrNull(
    'With `settings.preset`: the settings of an ordinary hook that does the same; null otherwise.',
  ),
  token_origins: t.List(
    t.Text('An origin, such as `https://proxy.example.com`.'),
    "The origins outside of the credential's provider that the hook sends its token to; empty when it sends none there. With `token_targets` `provider` these deliveries are `blocked`.",
  ),
  trigger_when: t.AnyObject('When it acts, as for creating a hook of its type.'),
  disabled_at: t.TimeOrNull('When Gantry disabled it because deliveries failed; null otherwise.'),
  disabled_reason: t.TextOrNull('Why Gantry disabled it; null otherwise.'),
  connection: t.refOrNull(
    connectionSchema,
    "The webhook that Gantry created at the repository's host; null for hooks that are not connected.",
  ),
  poll: t.refOrNull(
    pollStatusSchema,
    'What polling the repository has found; null for hooks without `settings.poll`.',
  ),
  health: t.refOrNull(hookHealthSchema, 'How its deliveries are doing; null for incoming hooks.'),
  paused_until: t.TimeOrNull(
    'Until when nothing is sent: the service that it notifies has reached its rate limit, or attempts failed. Null otherwise.',
  ),
  paused_reason: t.TextOrNull(
    'Why nothing is sent until then, such as `api.github.com allows no more requests until 14:05 UTC (rate limit)`; null otherwise.',
  ),
  pipeline_id: t.idOf('pipeline'),
  pipeline_name: t.TextOrNull(
    'The name of the pipeline; null for callers without `pipeline:view` and `action:view`.',
  ),
  resource_type: t.Word(Object.keys(RESOURCE_TYPES), 'The kind of resource of the pipeline.'),
  resource_id: t.described(t.Id, 'The id of the resource of the pipeline.'),
  resource_name: t.TextOrNull(
    'The name of the resource; null for callers who can read neither it (`application:view`, `server:view`) nor actions.',
  ),
  project_id: t.idOf('project'),
  environment_id: t.idOf('environment'),
  created_by_user: t.ref(userSchema, 'Who created the hook.'),
  ...t.timestamps,
})
export type Hook = t.Static<typeof hookSchema>

export const hookSchemas = [
  singleConditionSchema,
  conditionSchema,
  variableSchema,
  signatureSchema,
  captureSchema,
  requestSchema,
  presetSchema,
  hookHealthSchema,
  connectionSchema,
  pollStatusSchema,
  hookSchema,
]
