// The dashboard room: the server side of the pages under /app. It serves their files and the data of the overview
// page; everything else that pages show comes from the public API.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { callerOf, showing } from '#access/authorization/enforce.ts'
import { filterQuery, filtersOf } from '#model/actions/filters.ts'
import { Exactly, errorResponses, ref } from '#platform/http/schemas.ts'
import { pageRoutes } from './page-routes.ts'
import { type ReadOverview, readOverview } from './read-overview.ts'
import { overviewSchema } from './schemas.ts'

const scopeQuery = Object.fromEntries(
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
      config: { access: showing('action:view'), compress: true },
      schema: {
        tags: ['Actions'],
        operationId: 'readOverview',
        summary: 'Read the overview',
        description:
          'The data of the overview page: runs of the environments where you have `action:view`, deliveries of those where you have `hook:view`. The numbers of workers and jobs are for the entire installation.',
        querystring: Exactly(scopeQuery),
        response: { 200: ref(overviewSchema), ...errorResponses(401, 422) },
      },
    },
    (request) => readOverview(options, callerOf(request), filtersOf(request.query)),
  )
}
