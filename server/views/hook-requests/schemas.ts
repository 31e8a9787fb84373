// The hook requests room: what people can see of calls received and deliveries sent.
import { type Static, Type } from 'typebox'
import { hookRequestSchema } from '#model/actions/schemas.ts'
import { Exactly, IntegerOrNull, named, TextOrNull, TimestampOrNull, Word } from '#platform/http/schemas.ts'

const recordFields = {
  ...hookRequestSchema.properties,
  type: Word(['incoming', 'outgoing'] as const),
  method: Type.String(),
  outcome: Type.String({
    description:
      'What became of it. Calls: accepted, duplicate, ping, ignored, rejected_signature, rejected_payload, rejected_variables, rejected_state, rate_limited. Deliveries: delivered, refused, redirected, timed_out, unreachable, blocked, unrenderable, superseded, unrecorded.',
  }),
  duration_ms: IntegerOrNull(),
  next_attempt_at: TimestampOrNull,
  attempt: IntegerOrNull({ description: 'Which attempt of its delivery it was; null for calls.' }),
  error: TextOrNull({ description: 'Why a delivery did not arrive, in words.' }),
}

export const hookRequestRecordSchema = named('HookRequestRecord', Exactly(recordFields))

const headers = Type.Unsafe<Record<string, unknown> | null>({ type: ['object', 'null'] })
const encoding = Word(['utf-8', 'base64'] as const, { description: 'How the bodies are written here.' })

export const hookRequestDetailSchema = named(
  'HookRequestDetail',
  Exactly({
    ...recordFields,
    request_headers: headers,
    request_body: TextOrNull({ description: 'Null once it is pruned, and for callers without `hook:edit`.' }),
    request_body_encoding: encoding,
    response_headers: headers,
    response_body: TextOrNull(),
    response_body_encoding: encoding,
  }),
)

export type HookRequestRecord = Static<typeof hookRequestRecordSchema>
export type HookRequestDetail = Static<typeof hookRequestDetailSchema>

export const hookRequestSchemas = [hookRequestRecordSchema, hookRequestDetailSchema]
