import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { publicly } from '#access/authorization/enforce.ts'
import { operationsOf } from '#access/authorization/operation.ts'
import { waitSecondsOf } from '#engine/waits/prefer.ts'
import type { WaitedFor, Waits } from '#engine/waits/waits.ts'
import { codeOf } from '#platform/database/error-code.ts'
import * as t from '#platform/http/schemas.ts'
import { MASK } from '#platform/masking/masked.ts'
import { dryRunSchemas } from './dry-run.ts'
import { dryRunRoute } from './dry-run-route.ts'
import { readBody } from './read-body.ts'
import { type Received, type ReceiveOptions, receiveCall } from './receive-call.ts'
import { createRejectionReport } from './rejection-report.ts'
import { type ReplayRoute, replayRoute } from './replay-call.ts'
import { callAnswerSchema, respond } from './respond.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Calls to a hook: the content type that the sender declared. */
    contentType: string | undefined
    /** Calls to a hook: why it was rejected. */
    rejectedFor: Error | null
  }
}

type CallRoutes = ReceiveOptions & { baseUrl: () => string; waits: Waits }

const operation = operationsOf('Hooks')

const BYTES = 'application/octet-stream'

/** Bytes for the server, JSON for the OpenAPI document. */
const callBody = {
  description:
    'JSON, plain or with `Content-Encoding: gzip`. Senders that use forms put the JSON into the field `payload`. The signature is over the bytes as sent.',
  content: {
    'application/json': {
      schema: t.Anything({
        title: 'HookPayload',
        description: "What the sender reports. The hook's variables and conditions read it.",
      }),
    },
    'application/x-www-form-urlencoded': {
      schema: t.Exactly({ payload: t.Text('The payload, as JSON.') }, { title: 'HookForm' }),
    },
  },
}

/** The public URL of hooks. It accepts any body as bytes: a signature is over bytes. */
/** The calls themselves. */
export const callRoutes: FastifyPluginAsyncTypebox<CallRoutes> = async (app, { baseUrl, waits, ...deps }) => {
  const { maxPayload } = deps
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(BYTES, (_request, stream, done) => readBody(stream, maxPayload, done))
  // Fastify rejects an unknown content type before the caller is authenticated, so it gets to see another one: always the
  // same, by its name, because it looks up every other one for each request.
  app.decorateRequest('contentType', undefined)
  app.addHook('onRequest', (request, _reply, done) => {
    request.contentType = request.headers['content-type']
    request.headers['content-type'] = BYTES
    done()
  })

  const report = createRejectionReport((line) => app.log.warn(line, 'calls rejected'))
  app.addHook('onClose', async () => report.close())
  app.decorateRequest('rejectedFor', null)
  app.addHook('onError', (request, _reply, error, done) => {
    request.rejectedFor = error
    done()
  })
  app.addHook('onResponse', (request, reply, done) => {
    const { statusCode: status } = reply
    if (status >= 400) {
      const { token } = request.params as { token: string }
      const error = request.rejectedFor
      // Messages for senders may quote what they sent.
      const reason = status >= 500 ? (error?.message ?? null) : null
      report.add(deps.cache.idOf(token), { status, code: codeOf(error), reason, request_id: request.id })
    }
    done()
  })

  app.post(
    '/hooks/:token/trigger',
    {
      bodyLimit: maxPayload,
      // The router limits the length of a token, and there is nothing else to validate.
      validatorCompiler: () => () => true,
      ...operation(publicly, 'callHook', {
        summary: 'Call a hook to start its pipeline',
        traits: { notJson: true, waits: true, reportsRejections: true, requestBody: callBody },
        description:
          'For senders of webhooks. The body is JSON, plain or with `Content-Encoding: gzip`; when the hook requires a secret, the call must be signed. The response is sent after the run is stored or, with `Prefer: wait`, when it has ended.',
        params: t.Exactly({
          token: t.Text({
            maxLength: 512,
            description: 'The token in the URL of the hook, or the id of a hook that requires a secret.',
          }),
        }),
        response: {
          200: {
            ...t.ref(callAnswerSchema),
            description: 'Nothing new was started: duplicate, ping, or unmet conditions',
          },
          202: t.withHeaders(
            { ...t.ref(callAnswerSchema), description: 'Run started' },
            {
              'X-Gantry-Action-Id': {
                type: 'integer',
                description: 'The id of the action that was started.',
              },
            },
          ),
          ...t.errorResponses(400, 403, 404, 409, 413, 415, 422, 429, 503),
        },
      }),
    },
    async (request, reply) => {
      const { token } = request.params
      const received = await receive(request, token)
      const { prefer } = request.headers
      if (prefer === undefined || !('actionId' in received)) return respond(reply, received, baseUrl())
      const waited = await waitForEnd(request, reply, token, received.actionId)
      return respond(reply, received, baseUrl(), waited)
    },
  )

  /** A function of its own, so that nothing holds the body while the call waits. */
  function receive(request: FastifyRequest, token: string): Promise<Received> {
    const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0)
    const { headers } = request
    headers['content-type'] = request.contentType
    const call = { headers, body, address: request.ip }
    return receiveCall(deps, token, call, `${baseUrl()}/hooks/${MASK}/trigger`)
  }

  /** If the caller prefers that: until the run has ended, which a call that started it may know. */
  async function waitForEnd(
    request: FastifyRequest,
    reply: FastifyReply,
    token: string,
    actionId: number,
  ): Promise<WaitedFor | undefined> {
    const seconds = waitSecondsOf(request.headers.prefer)
    if (seconds === undefined) return undefined
    request.body = undefined
    // Known already; and if not, because the database is away, the call has been accepted all the same.
    const cached = await deps.cache.find(token).catch(() => null)
    if (!cached) return undefined
    const waited = await waits.forEnd(actionId, {
      seconds,
      owner: { hookId: cached.hook.id },
      isAllowed: async () => (await deps.cache.find(token))?.hook.active === true,
      response: reply.raw,
    })
    if (waited) reply.header('preference-applied', `wait=${seconds}`)
    return waited
  }
}

/** What users do with hooks and their calls. */
export const incomingRoutes: FastifyPluginAsyncTypebox<ReplayRoute> = async (app, deps) => {
  await app.register(dryRunRoute, deps)
  await app.register(replayRoute, deps)
}

export const incomingSchemas = [callAnswerSchema, ...dryRunSchemas]
