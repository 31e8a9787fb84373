import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { publicly } from '#access/authorization/enforce.ts'
import { Exactly, errorResponses, ref } from '#platform/http/schemas.ts'
import { MASK } from '#platform/masking/masked.ts'
import { callAnswerSchema, replyTo, rethrow } from './answer.ts'
import { type ReceiveCalls, receiveCall } from './receive-call.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Of a call to a hook: the type that its sender says the body has. */
    contentType: string | undefined
  }
}

export type IncomingRoutes = ReceiveCalls & { maxPayload: number; baseUrl: () => string }

/** The address that the world calls. It takes any body as bytes: a signature is over bytes. */
export const incomingRoutes: FastifyPluginAsyncTypebox<IncomingRoutes> = async (
  app,
  { maxPayload, baseUrl, ...deps },
) => {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: maxPayload }, (_request, body, done) =>
    done(null, body),
  )
  // Fastify refuses a type that it cannot read before anybody has asked who calls, so it is shown another one.
  app.decorateRequest('contentType', undefined)
  app.addHook('onRequest', async (request) => {
    request.contentType = request.headers['content-type']
    request.headers['content-type'] = 'application/octet-stream'
  })

  app.post(
    '/hooks/:token/trigger',
    {
      bodyLimit: maxPayload,
      // The answer is for programs: what tells browsers how to behave would be for nobody.
      helmet: false,
      config: { access: publicly, notJson: true },
      schema: {
        tags: ['Hooks'],
        operationId: 'callHook',
        summary: 'Call a hook: start its pipeline',
        description:
          'For senders of webhooks. The body is JSON; when the hook requires a secret, the call must be signed. The answer comes when the run is stored.',
        security: [],
        params: Exactly({ token: Type.String({ maxLength: 512 }) }),
        response: {
          200: {
            ...ref(callAnswerSchema),
            description: 'Nothing new was started: a duplicate, a ping, or unmet conditions',
          },
          202: { ...ref(callAnswerSchema), description: 'A run was started' },
          ...errorResponses(400, 403, 404, 409, 413, 415, 422, 429, 503),
        },
      },
    },
    async (request, reply) => {
      const { token } = request.params
      const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0)
      const headers = { ...request.headers, 'content-type': request.contentType }
      const call = { headers, body, address: request.ip }
      const url = `${baseUrl()}/hooks/${MASK}/trigger`
      const received = await receiveCall(deps, token, call, url).catch(rethrow)
      return replyTo(reply, received, baseUrl())
    },
  )
}
