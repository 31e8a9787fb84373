// The hooks room: records of incoming and outgoing hooks, and how people manage them. What a hook does
// with a call or an event is the business of the rooms incoming and outgoing.
import { type Static, Type } from 'typebox'
import { userSchema } from '#access/accounts/user-schema.ts'
import { EVENT_KINDS } from '#model/events/event-kinds.ts'
import {
  Exactly,
  Id,
  Name,
  named,
  ref,
  TextOrNull,
  Timestamp,
  TimestampOrNull,
  Uuid,
  Word,
} from '#platform/http/schemas.ts'
import { OPERATIONS, type Operation, RESOURCE_TYPES } from '#platform/vocabulary.ts'
import { SCHEME_NAMES } from './signature-schemes.ts'

export const ALGORITHMS = ['sha256', 'sha512', 'sha384', 'sha1'] as const
export const VARIABLE_TYPES = ['string', 'integer', 'boolean', 'array'] as const
export const METHODS = ['POST', 'PUT', 'PATCH', 'DELETE', 'GET'] as const

const headerName = (more: object = {}) =>
  Type.String({
    minLength: 1,
    maxLength: 256,
    pattern: "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$",
    'x-hint': 'must be a valid header name: letters, digits and -',
    ...more,
  })

const name = Name(60)
const actionType = Word(Object.keys(OPERATIONS) as Operation[], {
  description: "Must equal the pipeline's operation; default: it.",
})
const path = Type.String({
  maxLength: 512,
  description: 'Where the value stands: `a.b.0.c`, `a["x.y"]`, `a\\.b`.',
})

export const conditionSchema = named(
  'HookCondition',
  Exactly({
    path,
    accepted_values: Type.Array(Type.Unknown(), {
      minItems: 1,
      maxItems: 100,
      description: 'Compared exactly, as JSON.',
    }),
  }),
)
const conditions = Type.Array(ref(conditionSchema), { maxItems: 50, description: 'All must hold.' })

export const variableSchema = named(
  'HookVariable',
  Exactly({
    name: Type.String({
      pattern: '^[A-Za-z_][A-Za-z0-9_-]{0,63}$',
      'x-hint': 'must begin with a letter or _, then letters, digits, _ or -, at most 64 characters',
    }),
    path: Type.Optional(
      Type.Unsafe<string | null>({
        type: ['string', 'null'],
        maxLength: 512,
        description: 'Absent: the top-level key `name`.',
      }),
    ),
    type: Word(VARIABLE_TYPES),
    required: Type.Boolean(),
    default_value: Type.Optional(Type.Unknown({ description: 'Of the declared type; null means none.' })),
  }),
)

export const signatureSchema = named(
  'HookSignature',
  Exactly({
    scheme: Word(SCHEME_NAMES),
    template: Type.Optional(
      TextOrNull({
        maxLength: 200,
        description: 'For `timestamp`: what is signed, such as `{timestamp}.{body}`.',
      }),
    ),
    timestamp_header: Type.Optional(
      TextOrNull({
        maxLength: 256,
        pattern: "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$",
        description: 'For `timestamp`; absent: a `t=` field of the signature header.',
      }),
    ),
    id_header: Type.Optional(
      TextOrNull({
        maxLength: 256,
        pattern: "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$",
        description: 'For `timestamp`: fills `{id}` in the template.',
      }),
    ),
  }),
)

const rateLimit = Exactly({
  per_second: Type.Integer({ minimum: 1, maximum: 1_000_000 }),
  burst: Type.Integer({ minimum: 1, maximum: 1_000_000 }),
})

export const incomingHookBody = Exactly({
  name,
  active: Type.Optional(Type.Boolean({ default: true })),
  requires_secret: Type.Optional(
    Type.Boolean({ default: false, description: 'Whether calls must be signed.' }),
  ),
  secret_algorithm: Type.Optional(Word(ALGORITHMS, { default: 'sha256' })),
  secret_header_name: Type.Optional(headerName({ default: 'X-Hub-Signature-256' })),
  secret: Type.Optional(
    Type.String({
      minLength: 16,
      maxLength: 255,
      description: 'For senders that dictate theirs; else one is made.',
    }),
  ),
  action_type: Type.Optional(actionType),
  settings: Type.Optional(
    Exactly({
      variables: Type.Optional(Type.Array(ref(variableSchema), { maxItems: 100 })),
      signature: Type.Optional(ref(signatureSchema)),
      rate_limit: Type.Optional(rateLimit),
    }),
  ),
  trigger_when: Type.Optional(Exactly({ conditions: Type.Optional(conditions) })),
})

const headerValue = Type.String({
  maxLength: 4096,
  pattern: '^[^\\r\\n\\0]*$',
  'x-hint': 'must not contain line breaks',
})

export const outgoingHookBody = Exactly({
  name,
  active: Type.Optional(Type.Boolean({ default: true })),
  action_type: Type.Optional(actionType),
  target_url: Type.String({
    maxLength: 2048,
    pattern: '^https?://\\S',
    'x-hint': 'must begin with http:// or https://',
  }),
  verify_ssl: Type.Optional(Type.Boolean({ default: true })),
  settings: Type.Optional(
    Exactly({
      request_headers: Type.Optional(
        Type.Array(Exactly({ name: headerName(), value: headerValue }), { maxItems: 50 }),
      ),
      request_body: Type.Optional(
        Type.Unsafe<Record<string, unknown> | null>({
          type: ['object', 'null'],
          description: 'Sent as JSON; absent: `{event, action}`.',
        }),
      ),
      request_method: Type.Optional(Word(METHODS, { default: 'POST' })),
      timeout_seconds: Type.Optional(Type.Integer({ minimum: 1, maximum: 30, default: 15 })),
    }),
  ),
  trigger_when: Type.Optional(
    Exactly({
      events: Type.Optional(Type.Array(Word(EVENT_KINDS), { minItems: 1, uniqueItems: true })),
      conditions: Type.Optional(conditions),
      scope: Type.Optional(Word(['pipeline', 'resource'] as const, { default: 'pipeline' })),
    }),
  ),
})

/** A change takes the fields of creation; each one that is given replaces what is stored, whole. */
export const incomingHookChange = Exactly({ ...incomingHookBody.properties, name: Type.Optional(name) })
export const outgoingHookChange = Exactly({
  ...outgoingHookBody.properties,
  name: Type.Optional(name),
  target_url: Type.Optional(outgoingHookBody.properties.target_url),
})

export const rotateSecretBody = Exactly({
  overlap_seconds: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 2_592_000,
      default: 86_400,
      description: 'For how long the previous secret stays valid.',
    }),
  ),
})

export const hookSchema = named(
  'Hook',
  Exactly({
    id: Uuid,
    name: Type.String(),
    type: Word(['incoming', 'outgoing'] as const),
    action_type: Type.String(),
    active: Type.Boolean(),
    url: TextOrNull({ description: 'Where calls go; masked for callers without `hook:edit`.' }),
    target_url: TextOrNull(),
    requires_secret: Type.Unsafe<boolean | null>({ type: ['boolean', 'null'] }),
    verify_ssl: Type.Unsafe<boolean | null>({ type: ['boolean', 'null'] }),
    secret: TextOrNull({ description: 'Text in the answer that made it, `********` afterwards.' }),
    secret_algorithm: TextOrNull(),
    secret_header_name: TextOrNull(),
    settings: Type.Record(Type.String(), Type.Unknown()),
    trigger_when: Type.Record(Type.String(), Type.Unknown()),
    disabled_at: TimestampOrNull,
    disabled_reason: TextOrNull(),
    pipeline_id: Id,
    resource_type: Word(Object.keys(RESOURCE_TYPES)),
    resource_id: Id,
    project_id: Id,
    environment_id: Id,
    created_by_user: ref(userSchema),
    created_at: Timestamp,
    updated_at: Timestamp,
  }),
)

export type Hook = Static<typeof hookSchema>
export type HookVariable = Static<typeof variableSchema>
export type HookCondition = Static<typeof conditionSchema>
export type IncomingHookBody = Static<typeof incomingHookBody>
export type OutgoingHookBody = Static<typeof outgoingHookBody>
export type IncomingHookChange = Static<typeof incomingHookChange>
export type OutgoingHookChange = Static<typeof outgoingHookChange>

export const hookSchemas = [conditionSchema, variableSchema, signatureSchema, hookSchema]
