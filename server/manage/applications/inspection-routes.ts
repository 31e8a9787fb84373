import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { callerOf, requiring } from '#access/authorization/enforce.ts'
import { operationsOf } from '#access/authorization/operation.ts'
import { ApiError, unavailable } from '#platform/http/errors.ts'
import { unwrap } from '#platform/http/problems.ts'
import * as t from '#platform/http/schemas.ts'
import { createSlots } from '#platform/user-slots.ts'
import { type InspectDeps, inspectSource } from './inspect-repository.ts'
import { inspectionBody, inspectionSchema } from './schemas.ts'

const operation = operationsOf('Applications')

export const inspectionRoutes: FastifyPluginAsyncTypebox<InspectDeps> = async (app, deps) => {
  // Each takes a connection, a process and some disk.
  const slots = createSlots({ perProcess: 4, perUser: 2 })
  const stop = new AbortController()
  app.addHook('preClose', async () => stop.abort())

  app.post(
    '/repositories/inspect',
    operation(requiring('application:add'), 'inspectRepository', {
      summary: 'Inspect a repository',
      description:
        'What an application with this repository could be like: its branches, and the language and commands that its files suggest. Credential and address follow the rules for creating an application. Stores nothing, runs nothing of the repository, and answers within about 20 seconds. A repository that cannot be reached is a valid result: 200 with `reachable` false, a `problem` and a message.',
      body: inspectionBody,
      response: { 200: t.ref(inspectionSchema), ...t.errorResponses(401, 403, 404, 422, 429, 503) },
    }),
    async (request, reply) => {
      const caller = callerOf(request)
      const release = slots.acquire(caller.id)
      if (!release) throw tooMany()
      const left = new AbortController()
      reply.raw.once('close', () => left.abort())
      const signal = AbortSignal.any([stop.signal, left.signal])
      try {
        return unwrap(await inspectSource(deps, caller, request.body, signal)).inspection
      } catch (error) {
        throw signal.aborted ? unavailable() : error
      } finally {
        release()
      }
    },
  )
}

const tooMany = () =>
  new ApiError('too_many_requests', 'Too many repositories are being inspected. Try again shortly.', {
    headers: { 'retry-after': '5' },
  })
