// The dashboard room: the server side of the pages under /app. It serves their files and the data of the overview
// page; everything else that pages show comes from the public API.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { callerOf, showing } from '#access/authorization/enforce.ts'
import { operationsOf } from '#access/authorization/operation.ts'
import { filterQuery, filtersOf } from '#model/actions/filters.ts'
import * as t from '#platform/http/schemas.ts'
import { pageRoutes } from './page-routes.ts'
import { type ReadOverview, readOverview } from './read-overview.ts'
import { overviewSchema } from './schemas.ts'

const operation = operationsOf('Actions')

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
    operation(showing('action:view'), 'readOverview', {
      summary: 'Read the overview',
      traits: { compress: true },
      description:
        'The data of the overview page: runs of the environments where you have `action:view`, deliveries of those where you have `hook:view`. The numbers of workers and jobs are for the entire installation.',
      querystring: t.Exactly(scopeQuery),
      response: { 200: t.ref(overviewSchema), ...t.errorResponses(401, 422) },
    }),
    (request) => readOverview(options, callerOf(request), filtersOf(request.query)),
  )
}
