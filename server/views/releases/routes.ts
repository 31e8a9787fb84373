// The releases room: what is live on the servers of an application, and what is on their disks. engine/runner records both.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { callerOf, permissions, scopeOf } from '#access/authorization/enforce.ts'
import { operationsOf } from '#access/authorization/operation.ts'
import type { EmbedDeps } from '#model/actions/embedded.ts'
import { tooManyRequests } from '#platform/http/errors.ts'
import { limitLongCalls } from '#platform/http/long-calls.ts'
import * as t from '#platform/http/schemas.ts'
import { readLive, readReleases, withContainment } from './read-releases.ts'
import { liveReleaseSchema, serverReleasesSchema } from './schemas.ts'

/** `mirrors`: GANTRY_HOME/repositories/mirrors */
export type ReleaseRoutes = EmbedDeps & { mirrors: string }

const operation = operationsOf('Applications')
const params = t.Exactly({ id: t.Id })
const access = permissions('application', 'id', 'application:view')

export const releaseRoutes: FastifyPluginAsyncTypebox<ReleaseRoutes> = async (app, deps) => {
  const longCall = limitLongCalls(app, { perProcess: 4, perUser: 2 })

  app.get(
    '/applications/:id/live',
    operation(access, 'listLiveReleases', {
      summary: 'List what is live',
      description:
        'One entry per linked server, by name. With `contains`, each says whether that commit is live there; answered from the mirror of the repository, as of the last deploy.',
      params,
      querystring: t.Exactly({
        contains: t.Optional(
          t.Text({
            pattern: '^[0-9a-fA-F]{7,64}$',
            'x-hint': 'must be a commit hash, or at least its first 7 digits',
            description: 'A commit: 7 to 64 hexadecimal digits.',
          }),
        ),
      }),
      response: { 200: t.List(t.ref(liveReleaseSchema)), ...t.errorResponses(401, 404, 422, 429, 503) },
    }),
    async (request, reply) => {
      const { id } = request.params
      const live = await readLive(deps, viewerOf(request), id)
      const digits = request.query.contains
      if (digits === undefined) return live.map((one) => ({ ...one, contains: null, contains_reason: null }))
      return longCall({ userId: callerOf(request).id, reply, ifBusy: refuse }, (signal) =>
        withContainment(live, { folder: deps.mirrors, applicationId: id, digits, signal }),
      )
    },
  )

  app.get(
    '/applications/:id/releases',
    operation(access, 'listReleases', {
      summary: 'List the releases on servers',
      description:
        'One entry per linked server, by name, with the releases on its disk as of the last deploy to it. To roll back to one, start the pipeline with `type: rollback` and its `release_name`.',
      params,
      response: { 200: t.List(t.ref(serverReleasesSchema)), ...t.errorResponses(401, 404, 422) },
    }),
    (request) => readReleases(deps, viewerOf(request), request.params.id),
  )
}

function viewerOf(request: FastifyRequest) {
  const scope = scopeOf(request)
  return { caller: callerOf(request), scope, environmentId: scope.environment_id! }
}

function refuse(): never {
  throw tooManyRequests('Too many commits are being looked up. Try again shortly.', 2)
}
