// The hook requests room: lists and shows received calls and sent deliveries.
import { hookRequestSchema } from '#model/actions/schemas.ts'
import { SIGNATURE_PROBLEMS, type SignatureProblem } from '#model/hooks/signature-schemes.ts'
import * as t from '#platform/http/schemas.ts'
import { catchUpSchema, missedCallSchema } from './catch-ups.ts'

const recordFields = {
  ...hookRequestSchema.properties,
  type: t.Word(
    ['incoming', 'outgoing'] as const,
    '`incoming`: a received call. `outgoing`: an attempt at a delivery.',
  ),
  method: t.Text('The HTTP method.'),
  outcome: t.Text(
    'The result. Calls: accepted, duplicate, ping, checks, ignored, rejected_signature, rejected_payload, rejected_variables, rejected_state, rate_limited. Deliveries: delivered, refused, redirected, timed_out, unreachable, blocked, unrenderable, superseded, unrecorded.',
  ),
  duration_ms: t.IntegerOrNull('How long it took, in milliseconds; null when not measured.'),
  next_attempt_at: t.TimeOrNull(
    'When the delivery is tried again, after any pause of the hook; null when it is not, or already was.',
  ),
  attempt: t.IntegerOrNull('The number of the attempt; null for calls.'),
  error: t.TextOrNull('Why the delivery failed; null when it did not, and for calls.'),
  capture_error: t.TextOrNull(
    'Deliveries of hooks that capture values: which required ones the answer lacks, or has in a form that cannot be used. Null otherwise.',
  ),
  deployment_type: t.TextOrNull(
    'Of the action that a call started, or that a delivery is about: `deploy`, `redeploy` or `rollback`. Null for other actions, and without one.',
  ),
  event: t.TextOrNull(
    'The kind of event that a delivery reported; `test` for a test. Null for calls, for superseded deliveries and for older records.',
  ),
}

export const hookRequestRecordSchema = t.namedObject('HookRequestRecord', recordFields)

const headers = (of: string) =>
  t.AnyObjectOrNull(
    `The headers of the ${of}, with secrets masked. Null when they are not stored, and for callers without \`hook:edit\`.`,
  )
const encoding = t.Word(['utf-8', 'base64'] as const, 'Encoding of the body in this response.')

export const hookRequestDetailSchema = t.namedObject('HookRequestDetail', {
  ...recordFields,
  signature_problem: t.Unsafe<SignatureProblem | null>({
    type: ['string', 'null'],
    enum: [...SIGNATURE_PROBLEMS, null],
    description:
      'Calls rejected for their signature: `header_missing`; `prefix`: another algorithm is named; `encoding`: neither hex nor base64 of the right length; `mismatch`: another secret or body; `timestamp`: missing or too old. Null otherwise, and for callers without `hook:edit`.',
  }),
  body_bytes: t.IntegerOrNull(
    'The size of the body of a call as received, before it was inflated. Null for deliveries, and for callers without `hook:edit`.',
  ),
  request_headers: headers('request'),
  request_body: t.TextOrNull(
    'The body of the request. Inflated if it was sent with `Content-Encoding: gzip`. Null after it was pruned, when it could not be inflated or shown without a secret, and for callers without `hook:edit`.',
  ),
  request_body_encoding: encoding,
  response_headers: headers('response'),
  response_body: t.TextOrNull(
    'The first 16 KiB of the response of the receiver. Null for calls, when it is not stored (also when the request contained a secret and the receiver is not the provider of the credential), and for callers without `hook:edit`.',
  ),
  response_body_encoding: encoding,
})

export const hookTestSchema = t.namedObject('HookTest', {
  ...hookRequestDetailSchema.properties,
  sample_action: t.Flag(
    'Whether the request was about a sample action, because no action matches the hook yet. Its id is 0.',
  ),
})

export const deliveryHourSchema = t.namedObject('DeliveryHour', {
  hour: t.Time('When the hour began.'),
  delivered: t.Count('Deliveries that the first attempt delivered.'),
  retried: t.Count('Deliveries that took several attempts, or are waiting for the next one.'),
  failed: t.Count('Deliveries that were not delivered, and are not tried again.'),
})
export type DeliveryHour = t.Static<typeof deliveryHourSchema>

export type HookRequestRecord = t.Static<typeof hookRequestRecordSchema>
export type HookRequestDetail = t.Static<typeof hookRequestDetailSchema>

export const hookRequestSchemas = [
  hookRequestRecordSchema,
  hookRequestDetailSchema,
  hookTestSchema,
  deliveryHourSchema,
  catchUpSchema,
  missedCallSchema,
]
