import type { FastifyReply } from 'fastify'
import { Type } from 'typebox'
import { permalink } from '#model/actions/present.ts'
import { ApiError, invalid, notFound, unavailable } from '#platform/http/errors.ts'
import { Exactly, IdOrNull, named, TextOrNull, UuidOrNull } from '#platform/http/schemas.ts'
import { OverloadError } from './group-commit.ts'
import type { Received } from './receive-call.ts'

export const callAnswerSchema = named(
  'CallAnswer',
  Exactly({
    message: Type.String(),
    action_id: IdOrNull,
    hook_request_id: UuidOrNull,
    url_web_permalink: TextOrNull({ format: 'uri' }),
    errors: Type.Null(),
  }),
)

/** Answers a call: 202 for a run that was started, 200 when nothing new was; refusals are thrown. */
export function replyTo(reply: FastifyReply, received: Received, baseUrl: string): FastifyReply {
  const answer = answerTo(received, baseUrl)
  if (answer.action_id !== null) reply.header('x-gantry-action-id', String(answer.action_id))
  return reply.code(received.kind === 'started' ? 202 : 200).send(answer)
}

/** For what was thrown on the way: too much work is no fault, the caller is told to come back. */
export function rethrow(error: unknown): never {
  throw error instanceof OverloadError ? unavailable() : error
}

/** The body of a success; what is not one is thrown. */
function answerTo(received: Received, baseUrl: string) {
  const nothingStarted = (message: string, requestId: string) => ({
    message,
    action_id: null,
    hook_request_id: requestId,
    url_web_permalink: null,
    errors: null,
  })
  switch (received.kind) {
    case 'started':
    case 'duplicate':
      return {
        message:
          received.kind === 'started'
            ? 'The pipeline was started.'
            : 'This delivery has already started the pipeline.',
        action_id: received.actionId,
        hook_request_id: received.requestId,
        url_web_permalink: permalink(baseUrl, received.actionId),
        errors: null,
      }
    case 'ping':
      return nothingStarted('Pong. The hook is ready; nothing was started.', received.requestId)
    case 'ignored':
      return nothingStarted(
        `Nothing was started: the condition on ${received.path} is not met.`,
        received.requestId,
      )
    case 'unknown-hook':
      throw notFound()
    case 'rejected_signature':
      throw new ApiError('forbidden', 'The signature is missing or wrong.')
    case 'rate_limited':
      throw new ApiError('too_many_requests', 'Too many calls; come back later.', {
        headers: { 'retry-after': String(received.retryAfterSeconds) },
      })
    case 'rejected_payload':
      throw new ApiError(received.isUnsupported ? 'unsupported_media_type' : 'malformed', received.message)
    case 'rejected_variables':
      throw invalid(received.errors)
    case 'cannot-run':
      throw new ApiError('conflict', received.reason)
  }
}
