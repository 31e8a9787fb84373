// The hook requests room: lists and shows received calls and sent deliveries.
import { type Static, Type } from 'typebox'
import { hookRequestSchema } from '#model/actions/schemas.ts'
import { IntegerOrNull, namedObject, TextOrNull, TimestampOrNull, Word } from '#platform/http/schemas.ts'

const recordFields = {
  ...hookRequestSchema.properties,
  type: Word(['incoming', 'outgoing'] as const),
  method: Type.String(),
  outcome: Type.String({
    description:
      'The result. Calls: accepted, duplicate, ping, ignored, rejected_signature, rejected_payload, rejected_variables, rejected_state, rate_limited. Deliveries: delivered, refused, redirected, timed_out, unreachable, blocked, unrenderable, superseded, unrecorded.',
  }),
  duration_ms: IntegerOrNull(),
  next_attempt_at: TimestampOrNull,
  attempt: IntegerOrNull({ description: 'The number of the attempt; null for calls.' }),
  error: TextOrNull({ description: 'Why the delivery failed.' }),
}

export const hookRequestRecordSchema = namedObject('HookRequestRecord', recordFields)

const headers = Type.Unsafe<Record<string, unknown> | null>({ type: ['object', 'null'] })
const encoding = Word(['utf-8', 'base64'] as const, { description: 'Encoding of the body in this response.' })

export const hookRequestDetailSchema = namedObject('HookRequestDetail', {
  ...recordFields,
  request_headers: headers,
  request_body: TextOrNull({
    description: 'Null after it was pruned, and for callers without `hook:edit`.',
  }),
  request_body_encoding: encoding,
  response_headers: headers,
  response_body: TextOrNull(),
  response_body_encoding: encoding,
})

export type HookRequestRecord = Static<typeof hookRequestRecordSchema>
export type HookRequestDetail = Static<typeof hookRequestDetailSchema>

export const hookRequestSchemas = [hookRequestRecordSchema, hookRequestDetailSchema]
