// The dashboard room: the server side of the pages under /app. It serves their files, and puts together what the
// first of them shows; everything else they show comes from the same API that everybody uses.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { callerOf, showing } from '#access/authorization/enforce.ts'
import { filterQuery, filtersOf } from '#model/actions/filters.ts'
import { Exactly, errorResponses, ref } from '#platform/http/schemas.ts'
import { pageRoutes } from './page-routes.ts'
import { type ReadOverview, readOverview } from './read-overview.ts'
import { overviewSchema } from './schemas.ts'

const placeQuery = Object.fromEntries(
  ['organization_id', 'project_id', 'environment_id'].map((name) => [
    `filter[${name}]`,
    filterQuery[`filter[${name}]`]!,
  ]),
)

export const dashboardRoutes: FastifyPluginAsyncTypebox<ReadOverview> = async (app, options) => {
  await app.register(pageRoutes)

  app.get(
    '/overview',
    {
      config: { access: showing('action:view') },
      schema: {
        tags: ['Actions'],
        operationId: 'readOverview',
        summary: 'What goes on, at a glance',
        description:
          'What the first page of the dashboard shows: of the environments where you have `action:view`, and for deliveries `hook:view`. The numbers of workers and jobs are those of the whole installation.',
        querystring: Exactly(placeQuery),
        response: { 200: ref(overviewSchema), ...errorResponses(401, 422) },
      },
    },
    (request) => readOverview(options, callerOf(request), filtersOf(request.query)),
  )
}
