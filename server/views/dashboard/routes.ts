// The dashboard room: the server side of the pages under /app. It serves their files and the data of the overview
// page; everything else that pages show comes from the public API.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { callerOf, showing } from '#access/authorization/enforce.ts'
import { operationsOf } from '#access/authorization/operation.ts'
import { filterQuery, filtersOf } from '#model/actions/filters.ts'
import { describePage, pageOf, pageQuery } from '#platform/http/pagination.ts'
import * as t from '#platform/http/schemas.ts'
import { pageRoutes } from './page-routes.ts'
import { createCardReader } from './read-cards.ts'
import { type ReadOverview, readOverview } from './read-overview.ts'
import { applicationCardSchema, overviewSchema } from './schemas.ts'

const operation = operationsOf('Actions')
const CARDS_PER_PAGE = 24

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

  const readCards = createCardReader(options)

  app.get(
    '/overview/applications',
    operation(showing('application:view'), 'listApplicationCards', {
      summary: 'List the cards of applications',
      traits: { compress: true },
      description: `One card per application that you can view: what is live, its health and its last runs; ${CARDS_PER_PAGE} per page. Ordered by environment (by organization, project and name); then those that need attention; then by the newest run. Runs are shown where you have \`action:view\`.`,
      querystring: t.Exactly({
        page: pageQuery.page,
        ...t.optionalFields({
          q: t.Text({
            maxLength: 200,
            description:
              'Words that all occur in the name of the application, its environment or its project. Case-insensitive; no character is a wildcard.',
          }),
          'filter[resource_id]': t.Text('Ids of applications, comma-separated.'),
        }),
        ...scopeQuery,
      }),
      response: { 200: t.List(t.ref(applicationCardSchema)), ...t.errorResponses(401, 422) },
    }),
    async (request, reply) => {
      const { q = '', page: number } = request.query as { q?: string; page?: number }
      const page = pageOf({ page: number, per_page: CARDS_PER_PAGE })
      const filters = filtersOf(request.query)
      const { items, extent } = await readCards(callerOf(request), { filters, q: q.trim(), page })
      describePage(request, reply, options.baseUrl(), page, extent)
      return items
    },
  )
}
