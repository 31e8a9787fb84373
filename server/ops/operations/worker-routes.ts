import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyBaseLogger } from 'fastify'
import { sql } from 'kysely'
import { instanceAdmin } from '#access/authorization/enforce.ts'
import { operationsOf } from '#access/authorization/operation.ts'
import { setDraining } from '#model/workers/heartbeat.ts'
import { IS_ONLINE } from '#model/workers/live-workers.ts'
import type { Database } from '#platform/database/connect.ts'
import { notFound } from '#platform/http/errors.ts'
import * as t from '#platform/http/schemas.ts'

const worker = t.Exactly(
  {
    id: t.described(t.Uuid, 'Of the process: after a restart it is another one.'),
    name: t.TextOrNull(
      'The machine, by `GANTRY_WORKER_NAME` or its host name; null with the embedded database, and for workers of an older release.',
    ),
    version: t.TextOrNull('The release that it runs; null for older ones.'),
    online: t.Flag('Whether it has sent a heartbeat in the last 30 seconds.'),
    draining: t.Flag('Whether it takes no new targets.'),
    running_targets: t.Integer('How many targets it runs, within a second or so; 0 when it is not online.'),
    capacity: t.IntegerOrNull(
      'How many targets it runs at the same time (`GANTRY_TARGETS_PER_WORKER`); null for older releases.',
    ),
    started_at: t.Time('When it started.'),
    last_seen_at: t.Time('When it sent its last heartbeat.'),
  },
  { title: 'Worker' },
)
type WorkerRecord = t.Static<typeof worker>

const operation = operationsOf('Operations')
const params = t.Exactly({ id: t.Uuid })

/** The workers of the installation, and taking one of them out of service. */
export const workerRoutes: FastifyPluginAsyncTypebox<{ db: Database }> = async (app, { db }) => {
  app.get(
    '/workers',
    operation(instanceAdmin, 'listWorkers', {
      summary: 'List the workers',
      description:
        'By name, oldest first. One that ended without signing off is listed as not `online` for a day.',
      response: { 200: t.List(worker), ...t.errorResponses(401, 403) },
    }),
    async () => readWorkers(db),
  )

  const response = { 200: worker, ...t.errorResponses(401, 403, 404, 422) }
  app.post(
    '/workers/:id/drain',
    operation(instanceAdmin, 'drainWorker', {
      summary: 'Drain a worker',
      description:
        'It takes no new targets, and runs that are between two steps continue on other workers. Running steps are not interrupted; those that run on without it are handed over if another worker is online. It can be stopped without losing a run once `running_targets` is 0. It still schedules runs and sends notifications. Ends with the process, or with `DELETE`. Returns 404 for a worker that is not online.',
      params,
      response,
    }),
    ({ params, log }) => drain(params.id, true, log),
  )

  app.delete(
    '/workers/:id/drain',
    operation(instanceAdmin, 'undrainWorker', {
      summary: 'End the draining of a worker',
      description: 'It takes targets again. Returns 404 for a worker that is not online.',
      params,
      response,
    }),
    ({ params, log }) => drain(params.id, false, log),
  )

  async function drain(id: string, draining: boolean, log: FastifyBaseLogger): Promise<WorkerRecord> {
    if (!(await setDraining(db, id, draining))) throw notFound()
    log.info({ worker_id: id }, draining ? 'worker drains' : 'worker takes targets again')
    const [found] = await readWorkers(db, id)
    if (!found) throw notFound()
    return found
  }
}

async function readWorkers(db: Database, id: string | null = null): Promise<WorkerRecord[]> {
  const { rows } = await sql<WorkerRecord>`
    select id, name, version, ${IS_ONLINE} as online, draining_since is not null as draining,
      case when ${IS_ONLINE} then running_targets else 0 end as running_targets, capacity, started_at,
      seen_at as last_seen_at
    from workers where ${id}::uuid is null or id = ${id}::uuid order by name, started_at, id`.execute(db)
  return rows
}
