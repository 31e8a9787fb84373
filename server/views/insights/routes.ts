import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { permissions } from '#access/authorization/enforce.ts'
import { operationsOf } from '#access/authorization/operation.ts'
import type { Database } from '#platform/database/connect.ts'
import { invalid } from '#platform/http/errors.ts'
import * as t from '#platform/http/schemas.ts'
import { DEFAULT_DAYS, dayRangeOf, MAX_DAYS } from './day-range.ts'
import { type InsightsSubject, readHistory, readInsights } from './read-insights.ts'
import { type Insights, insightsSchema } from './schemas.ts'

const schemas = {
  params: t.Exactly({ id: t.Id }),
  querystring: t.Exactly(
    t.optionalFields({
      from: t.Text(`The first day, in UTC, such as 2026-11-18. Without it: ${DEFAULT_DAYS} days in all.`),
      to: t.Text(`The last day, in UTC; at most ${MAX_DAYS} days in all. Without it: today.`),
    }),
  ),
  response: { 200: t.ref(insightsSchema), ...t.errorResponses(401, 403, 404, 422) },
}
const DEFINITIONS =
  'How often it was deployed, how long commits took to get there, how many deployments failed, and how long until that was over. Removed runs count, too. Definitions: docs/guides/insights.md.'

export const insightRoutes: FastifyPluginAsyncTypebox<{ db: Database }> = async (app, { db }) => {
  app.get(
    '/applications/:id/insights',
    operationsOf('Applications')(
      permissions('application', 'id', 'application:view', 'action:view'),
      'readApplicationInsights',
      { summary: 'Read the insights of an application', description: DEFINITIONS, ...schemas },
    ),
    (request) => insightsOf({ column: 'application_id', id: request.params.id }, request.query),
  )

  app.get(
    '/environments/:id/insights',
    operationsOf('Environments')(
      permissions('environment', 'id', 'environment:view', 'action:view'),
      'readEnvironmentInsights',
      { summary: 'Read the insights of an environment', description: DEFINITIONS, ...schemas },
    ),
    (request) => insightsOf({ column: 'environment_id', id: request.params.id }, request.query),
  )

  async function insightsOf(
    subject: InsightsSubject,
    query: { from?: string; to?: string },
  ): Promise<Insights> {
    const { today, history_since } = await readHistory(db, subject)
    const asked = dayRangeOf(query, today)
    if (asked.kind === 'invalid') throw invalid(asked.errors)
    return { ...(await readInsights(db, subject, asked.range)), history_since }
  }
}
