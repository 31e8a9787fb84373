import type { FastifyReply } from 'fastify'
import type { WaitedFor } from '#engine/waits/waits.ts'
import { permalink } from '#model/actions/present.ts'
import { describeUnmet } from '#model/payload/conditions.ts'
import { ApiError, invalid, notFound } from '#platform/http/errors.ts'
import * as t from '#platform/http/schemas.ts'
import { STATUSES } from '#platform/vocabulary.ts'
import type { Received } from './receive-call.ts'

export const callAnswerSchema = t.namedObject('CallAnswer', {
  message: t.Text('What happened, as a sentence.'),
  action_id: t.idOrNullOf('action', 'null when nothing was started'),
  hook_request_id: t.described(t.UuidOrNull, 'The id of the record of the call; null without one.'),
  url_web_permalink: t.TextOrNull({
    format: 'uri',
    description: 'The page of the action in the dashboard; null when nothing was started.',
  }),
  errors: t.Null({ description: 'Always null: errors have another status.' }),
  ...t.optionalFields({
    status: t.Word(
      Object.keys(STATUSES) as (keyof typeof STATUSES)[],
      'The status of the action when waiting ended. Only in responses to calls with `Prefer: wait` that waited.',
    ),
    status_reason_code: t.Text(
      'The reason for `status`, for example `FAILED_TIMEOUT`. Present together with it.',
    ),
  }),
})

/** Responds with 202 for a started run, 200 when nothing new was started; rejections are thrown. */
export function respond(
  reply: FastifyReply,
  received: Received,
  baseUrl: string,
  waited?: WaitedFor,
): FastifyReply {
  const body = { ...bodyOf(received, baseUrl), ...waited }
  if (body.action_id !== null) reply.header('x-gantry-action-id', String(body.action_id))
  return reply.code(received.kind === 'started' ? 202 : 200).send(body)
}

export function answerBody(
  message: string,
  baseUrl: string,
  { actionId = null, requestId = null }: { actionId?: number | null; requestId?: string | null },
): t.Static<typeof callAnswerSchema> {
  return {
    message,
    action_id: actionId,
    hook_request_id: requestId,
    url_web_permalink: actionId === null ? null : permalink(baseUrl, actionId),
    errors: null,
  }
}

function bodyOf(received: Received, baseUrl: string) {
  switch (received.kind) {
    case 'started':
      return answerBody('The pipeline was started.', baseUrl, received)
    case 'duplicate':
      return answerBody('Duplicate: this call has already started the pipeline.', baseUrl, received)
    case 'ping':
      return answerBody('Pong. The hook is ready; nothing was started.', baseUrl, received)
    case 'checks':
      return answerBody('Runs that wait for these checks look again. Nothing was started.', baseUrl, received)
    case 'ignored': {
      const message = `Nothing was started: ${describeUnmet(received.unmet)}.`
      return answerBody(message, baseUrl, received)
    }
    case 'not-found':
      throw notFound()
    case 'rejected_signature':
      throw new ApiError('forbidden', 'The signature is missing or wrong.')
    case 'rate_limited':
      throw new ApiError('too_many_requests', 'Too many calls. Try again later.', {
        headers: { 'retry-after': String(received.retryAfterSeconds) },
      })
    case 'rejected_payload':
      throw new ApiError(received.code, received.message)
    case 'rejected_variables':
      throw invalid(received.errors)
    case 'cannot-run':
      throw new ApiError('conflict', received.reason)
  }
}
