import { filterQuery } from '#model/actions/filters.ts'
import { statusFields } from '#model/actions/summary-schemas.ts'
import type { Status } from '#platform/database/tables.ts'
import * as t from '#platform/http/schemas.ts'
import { STATUSES } from '#platform/vocabulary.ts'

export const EVENT_STREAM = 'text/event-stream'

const order = t.Integer({ minimum: 1, description: 'The position of the step, from 1.' })
const move = {
  previous_status: t.described(statusFields.status, 'The status before.'),
  ...statusFields,
  occurred_at: t.Time('When it changed.'),
}

/** The data of each type of event. */
const actionMoveSchema = t.namedObject('ActionMove', {
  action_id: t.idOf('action'),
  environment_id: t.idOf('environment'),
  pipeline_id: t.idOf('pipeline'),
  ...move,
  previous_status: t.Unsafe<Status | null>({
    type: ['string', 'null'],
    enum: [...Object.keys(STATUSES), null],
    description: 'The status before; null when the action was created.',
  }),
})
const targetMoveSchema = t.namedObject('TargetMove', { target_id: t.idOf('target'), ...move })
const stepMoveSchema = t.namedObject('StepMove', { target_id: t.idOf('target'), step_order: order, ...move })
const logTextSchema = t.namedObject('LogText', {
  target_id: t.idOf('target'),
  step_order: order,
  offset: t.Count('Where the text starts in the log of the step, in bytes of UTF-8.'),
  omitted_bytes: t.Count(
    'How many bytes before the text are omitted: only the first and the last 5 MiB are stored.',
  ),
  text: t.Text('A piece of the output, with secrets masked.'),
})
const streamEndSchema = t.namedObject('StreamEnd', { action_id: t.idOf('action'), ...statusFields })
const streamReadySchema = t.namedObject('StreamReady', {})
const deliverySchema = t.namedObject('Delivery', {
  id: t.Text('The `webhook-id`: the same for every attempt of a delivery.'),
  hook_request_id: t.described(t.Uuid, 'The record of this attempt.'),
  action_id: t.IntegerOrNull('The action that it reports; null for the sample action of a test.'),
  event: t.TextOrNull('The kind of event that it reports; `test` for a test.'),
  attempt: t.Integer({ minimum: 1, description: 'The number of the attempt.' }),
  method: t.Text('The HTTP method.'),
  target_url: t.Text('Where it was sent to.'),
  headers: t.Record(t.Text(), t.Text('The value of the header.'), {
    description:
      'The headers, with secrets masked, and a signature of `body` that is valid now. Headers that carry credentials, such as `Authorization`, are masked.',
  }),
  body: t.Text('The body as recorded, with secrets masked; empty when there is none.'),
  is_truncated: t.Flag('Whether the record has only the beginning of the body (64 KiB).'),
  created_at: t.Time('When the attempt was recorded.'),
})

const EVENTS = {
  action: actionMoveSchema,
  target: targetMoveSchema,
  step: stepMoveSchema,
  log: logTextSchema,
  end: streamEndSchema,
  ready: streamReadySchema,
  delivery: deliverySchema,
}
export type EventData = { [Type in keyof typeof EVENTS]: t.Static<(typeof EVENTS)[Type]> }

export const streamSchemas = Object.values(EVENTS)

const headers = t.Object({
  'last-event-id': t.Optional(t.Text('The `id` of the last event received: the stream resumes after it.')),
})

/** OpenAPI cannot describe events: the data of each is one of these schemas, as JSON on one line. */
function events(...data: (t.TSchema & { $id: string })[]) {
  return {
    description: 'Server-sent events; the data of each is one of these, as one line of JSON',
    content: { [EVENT_STREAM]: { schema: { anyOf: data.map((schema) => t.ref(schema)) } } },
  }
}

const COMMON = `Send \`Accept: ${EVENT_STREAM}\`. Each event has an \`id\`; to resume after a disconnect, send the last one as \
\`Last-Event-ID\`, as browsers do automatically, to any process of the installation. Comments keep quiet streams alive. The \
stream closes when the token or the permission is revoked, and when the service stops.`

const traits = { offers: EVENT_STREAM }
const streamErrors = t.errorResponses(401, 406, 422, 429, 503)

export const actionStream = {
  traits,
  summary: 'Stream an action',
  description: `Sends everything that has happened to the action, then every change as it happens, until the action has ended: \
status changes of the action (\`action\`), of its targets (\`target\`) and of their steps (\`step\`), step output (\`log\`), and \
finally \`end\`. ${COMMON} Log text is never repeated or omitted. The output of a step comes before its end; with hundreds of \
targets at a time, some are sent later than others. After \`end\` there is nothing more: reconnecting with its id returns 204.`,
  params: t.Exactly({ id: t.Id }),
  headers,
  response: {
    200: events(actionMoveSchema, targetMoveSchema, stepMoveSchema, logTextSchema, streamEndSchema),
    204: t.Null({ description: 'Everything was received before, `end` included' }),
    ...t.errorResponses(404),
    ...streamErrors,
  },
}

/** Who may approve a run changes with more than its moves. */
const { 'filter[approvable]': _, ...feedFilters } = filterQuery

export const feedStream = {
  traits,
  summary: 'Stream all actions',
  description: `Sends status changes of actions (\`action\`) as they happen, in every environment where you have \`action:view\`. The \
first event is \`ready\`: every later change reaches you, so a list that is read after it and updated by the events is never \
stale. ${COMMON} No change is omitted; after a disconnect a few may be repeated. A change matches \`filter[status]\` when it \
goes to one of these statuses or leaves one. Step output and changes of targets are in the stream of the single action.`,
  querystring: t.Exactly(feedFilters),
  headers,
  response: { 200: events(actionMoveSchema, streamReadySchema), ...streamErrors },
}

export const deliveryStream = {
  traits,
  summary: 'Stream the deliveries of an outgoing hook',
  description: `Sends each delivery (\`delivery\`) once it was attempted, whatever the receiver responded, and tests: for \
forwarding them to a receiver on your own machine. Bodies are masked like those of records and signed again with the secret of \
the hook, so that receivers can verify them. The first event is \`ready\`: every later delivery reaches you. ${COMMON} After a \
disconnect a few may be repeated. The stream ends when the hook is removed.`,
  params: t.Exactly({ hook_id: t.Uuid }),
  headers,
  response: {
    200: events(deliverySchema, streamReadySchema),
    ...t.errorResponses(403, 404),
    ...streamErrors,
  },
}
