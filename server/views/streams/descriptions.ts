import { type TSchema, Type } from 'typebox'
import { filterQuery } from '#model/actions/filters.ts'
import { Exactly, errorResponses, errorSchema, Id, ref } from '#platform/http/schemas.ts'
import {
  actionMoveSchema,
  logTextSchema,
  stepMoveSchema,
  streamEndSchema,
  streamReadySchema,
  targetMoveSchema,
} from './schemas.ts'

export const EVENT_STREAM = 'text/event-stream'

const tags = ['Actions']

const headers = Type.Object({
  'last-event-id': Type.Optional(
    Type.String({
      description: 'The `id` of the last event that was received: the stream goes on after it.',
    }),
  ),
})

/** What OpenAPI has no words for: the data of an event is one of these, as JSON on one line. */
function events(...data: (TSchema & { $id: string })[]) {
  return {
    description: 'Server-sent events; the data of each is one of these, as one line of JSON',
    content: { [EVENT_STREAM]: { schema: { anyOf: data.map(ref) } } },
  }
}

const COMMON = `Send \`Accept: ${EVENT_STREAM}\`. Each event has an \`id\`; after a cut, send the last one as \`Last-Event-ID\`, as \
browsers do by themselves, to any process of the installation. Comments come now and then while nothing happens. The stream \
is closed when the token or the permission is taken away, and when the service stops.`

const ownRefusals = {
  ...errorResponses(401, 422, 429, 503),
  406: { ...ref(errorSchema), description: `\`Accept\` does not name \`${EVENT_STREAM}\`` },
}

export const actionStream = {
  tags,
  operationId: 'streamAction',
  summary: 'Follow an action',
  description: `What has happened to the action, then what happens, as it happens, until it has ended: moves of the action \
(\`action\`), of its targets (\`target\`) and of their steps (\`step\`), what steps print (\`log\`), and at last \`end\`. ${COMMON} \
No text of a log is sent twice and none is left out. Before a step ends comes what it has printed; with some hundred \
targets at a time, some of them come later than the others. After \`end\` there is nothing more: coming back with its id \
is answered with 204.`,
  params: Exactly({ id: Id }),
  headers,
  response: {
    200: events(actionMoveSchema, targetMoveSchema, stepMoveSchema, logTextSchema, streamEndSchema),
    204: Type.Null({ description: 'Everything was received before, `end` included' }),
    ...errorResponses(404),
    ...ownRefusals,
  },
}

export const movesStream = {
  tags,
  operationId: 'streamActions',
  summary: 'Follow all actions',
  description: `The moves of actions (\`action\`), as they happen, in every environment where you have \`action:view\`. First comes \
\`ready\`: what moves after it reaches you, so a list that is read after it and changed by the moves is never behind. \
${COMMON} No move is left out; after a cut a few may come again. A move matches \`filter[status]\` when it goes to one of these statuses \
or leaves one. What runs print and what their targets do is in the stream of the single action.`,
  querystring: Exactly(filterQuery),
  headers,
  response: { 200: events(actionMoveSchema, streamReadySchema), ...ownRefusals },
}
