import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { callerOf, requiring } from '#access/authorization/enforce.ts'
import { operationsOf } from '#access/authorization/operation.ts'
import { tooManyRequests } from '#platform/http/errors.ts'
import { limitLongCalls } from '#platform/http/long-calls.ts'
import { unwrap } from '#platform/http/problems.ts'
import * as t from '#platform/http/schemas.ts'
import { type InspectDeps, inspectSource } from './inspect-repository.ts'
import { inspectionBody, inspectionSchema } from './schemas.ts'

const operation = operationsOf('Applications')

export const inspectionRoutes: FastifyPluginAsyncTypebox<InspectDeps> = async (app, deps) => {
  // Each takes a connection, a process and some disk.
  const longCall = limitLongCalls(app, { perProcess: 4, perUser: 2 })

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
      return longCall(
        { userId: caller.id, reply, ifBusy: refuse },
        async (signal) => unwrap(await inspectSource(deps, caller, request.body, signal)).inspection,
      )
    },
  )
}

function refuse(): never {
  throw tooManyRequests('Too many repositories are being inspected. Try again shortly.', 5)
}
