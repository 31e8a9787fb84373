// The operations room: health, readiness, metrics, dead letters and the OpenAPI document.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { instanceAdmin, publicly } from '#access/authorization/enforce.ts'
import { operationsOf } from '#access/authorization/operation.ts'
import type { Database } from '#platform/database/connect.ts'
import { ApiError } from '#platform/http/errors.ts'
import { prefersPage } from '#platform/http/requests.ts'
import * as t from '#platform/http/schemas.ts'
import { type StaticFile, sendFile, toFile } from '#platform/http/static-files.ts'
import { findUnready, type ReadinessSigns } from './readiness.ts'
import { workerRoutes } from './worker-routes.ts'

export type HealthSigns = Omit<Health, 'deadLetters'>

/** The state of the service. */
export type Health = ReadinessSigns & {
  /** In the Prometheus text format. */
  metrics(): Promise<string>
  /** Jobs that failed their last attempt, newest first. */
  deadLetters(limit: number): Promise<DeadLetter[]>
}

const deadLetter = t.Exactly(
  {
    id: t.Text('The id of the job.'),
    job: t.Text('The name of the job.'),
    payload_keys: t.List(t.Text(), 'The names of its inputs; not the values, which may be secret.'),
    attempts: t.Integer('How often it was tried.'),
    error: t.TextOrNull('The error of the last attempt; null when there was none.'),
    enqueued_at: t.Time('When it was enqueued.'),
    failed_at: t.Time('When it failed permanently.'),
  },
  { title: 'DeadLetter' },
)
export type DeadLetter = t.Static<typeof deadLetter>

const operation = operationsOf('Operations')
const alive = t.Exactly(
  { status: t.Literal('ok', { description: 'Always `ok`.' }) },
  { title: 'HealthStatus' },
)

/** `isOperator`: whether a caller may know more than a code. */
export type HealthDeps = { health: HealthSigns; isOperator: (request: FastifyRequest) => Promise<boolean> }

/** What operators watch; a process that only works serves nothing else. */
export const healthRoutes: FastifyPluginAsyncTypebox<HealthDeps> = async (app, { health, isOperator }) => {
  app.get(
    '/healthz',
    operation(publicly, 'checkAlive', {
      summary: 'Liveness: the process and the database respond',
      traits: { notJson: true },
      description: 'Restart a process that returns 503 here for minutes while its database is available.',
      response: { 200: alive, ...t.errorResponses(422, 503) },
    }),
    async () => {
      await health.checkDatabase()
      return { status: 'ok' as const }
    },
  )

  app.get(
    '/readyz',
    operation(publicly, 'checkReady', {
      summary: 'Readiness: the queue processes jobs, too',
      traits: { notJson: true },
      description:
        'For load balancers: send no requests to a process that returns 503. `code` is the reason: `database_unreachable`, `database_unresponsive`, `database_read_only`, `database_full`, `queue_stalled`, `outgrown` or `stopping`. Needs no token; with the metrics token or that of an instance administrator, `message` says more.',
      response: { 200: alive, ...t.errorResponses(422, 503) },
    }),
    async (request) => {
      const unready = await findUnready(health)
      if (unready === null) return { status: 'ok' as const }
      const message = (await isOperator(request)) ? unready.sentence : 'Not ready; `code` is the reason.'
      throw new ApiError(unready.code, message, { headers: { 'retry-after': '2' } })
    },
  )

  app.get(
    '/metrics',
    operation({ kind: 'instance-admin', or: 'metrics-token', available: 'while-busy' }, 'readMetrics', {
      summary: 'Metrics in the Prometheus text format',
      traits: { notJson: true },
      description: 'For instance administrators, and for the token in `GANTRY_METRICS_TOKEN`.',
      response: {
        200: {
          description: 'The metrics, one sample per line',
          content: { 'text/plain': { schema: t.Text() } },
        },
        ...t.errorResponses(401, 403, 503),
      },
    }),
    async (_request, reply) =>
      reply.type('text/plain; version=0.0.4; charset=utf-8').send(await health.metrics()),
  )
}

export type OperationsDeps = HealthDeps & { health: Health; version: string; db: Database }

export const operationsRoutes: FastifyPluginAsyncTypebox<OperationsDeps> = async (
  app,
  { health, isOperator, version, db },
) => {
  app.get(
    '/',
    operation(publicly, 'readVersion', {
      summary: 'Name and version',
      description:
        'Identifies the service and its version: the first call of a client. Needs no token, and answers without the database. Redirects browsers, which ask for `text/html`, to the dashboard at `/app`.',
      response: {
        200: t.Exactly(
          {
            name: t.Text('Always `Gantry`.'),
            version: t.Text('The running version.'),
            documentation: t.Text('The path of the API reference.'),
          },
          { title: 'ServiceInfo' },
        ),
        302: t.Null({ description: 'To the dashboard, for callers that ask for `text/html`' }),
        ...t.errorResponses(406),
      },
    }),
    async (request, reply) => {
      reply.header('vary', 'Accept')
      // Relative: behind a proxy, the browser knows best under which address it has reached Gantry.
      if (prefersPage(request.headers.accept)) return reply.redirect('/app')
      return { name: 'Gantry', version, documentation: '/docs' }
    },
  )

  await healthRoutes(app, { health, isOperator })

  app.get(
    '/jobs/dead-letters',
    operation(instanceAdmin, 'listDeadLetters', {
      summary: 'List jobs that failed their last attempt, newest first',
      description: 'For instance administrators. At most 100 jobs.',
      response: { 200: t.List(deadLetter), ...t.errorResponses(401, 403) },
    }),
    async () => health.deadLetters(100),
  )

  let document: Promise<StaticFile> | undefined
  app.get(
    '/openapi.json',
    operation(publicly, 'readOpenApi', {
      summary: 'This API as an OpenAPI 3.1 document',
      description: 'Changes only with the version of Gantry.',
      response: { 200: t.AnyObject(), ...t.errorResponses(406, 422) },
    }),
    async (request, reply) => {
      // Half a megabyte that anybody may ask for, and that changes only with the version: written once.
      document ??= toFile(Buffer.from(JSON.stringify(app.swagger())), 'application/json; charset=utf-8')
      return sendFile(request, reply, await document)
    },
  )

  await app.register(workerRoutes, { db })
}
