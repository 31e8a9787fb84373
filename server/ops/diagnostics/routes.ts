import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { callerOf } from '#access/authorization/enforce.ts'
import { operationsOf } from '#access/authorization/operation.ts'
import type { Database } from '#platform/database/connect.ts'
import { codeOf } from '#platform/database/error-code.ts'
import { findOutage } from '#platform/database/find-outage.ts'
import * as t from '#platform/http/schemas.ts'
import { type DatabaseDeps, databaseChecks, isExhausted } from './database-checks.ts'
import { type MachineDeps, machineChecks } from './machine-checks.ts'
import { runChecks, skipUnanswerable } from './run-checks.ts'
import { type WorkDeps, workChecks } from './work-checks.ts'

const operation = operationsOf('Operations')

export type DiagnosticsDeps = Omit<DatabaseDeps, 'outage'> &
  WorkDeps &
  MachineDeps & {
    /** One connection that is free while all others are in use, and reads while the database takes no writes. */
    reserved: Database
    /** Rejects when the database does not respond, or takes no writes. */
    checkDatabase: () => Promise<void>
  }

const WITHIN_MS = 5_000

const check = t.Exactly(
  {
    name: t.Text('What was checked, such as `database`, `workers` or `disk`.'),
    status: t.Word(
      ['ok', 'warning', 'failed'],
      '`warning`: look into it. `failed`: something does not work. Checks that hang have failed.',
    ),
    message: t.Text('What was found, in a sentence.'),
    remedy: t.TextOrNull('What to do about it; null when the status is `ok`.'),
  },
  { title: 'DiagnosticCheck' },
)

const diagnostics = t.Exactly(
  {
    version: t.Text('The running version.'),
    time: t.Time('What time it is for the process that answers.'),
    checks: t.List(check, 'In a fixed order; later versions may add some.'),
  },
  { title: 'Diagnostics' },
)

export const diagnosticsRoutes: FastifyPluginAsyncTypebox<DiagnosticsDeps> = async (app, deps) => {
  app.get(
    '/diagnostics',
    operation({ kind: 'instance-admin', available: 'in-outages' }, 'readDiagnostics', {
      summary: 'Check the installation',
      description:
        'Looks at the database, workers, queue, deliveries, servers, disk, key and settings, and says what to do about what is wrong. Answers within about five seconds, with 200 whatever it finds; `gantry doctor` shows the result. What concerns the machine is that of the process that answers. Works without the database for tokens that this process has seen in the last ten minutes; others get 503, whose `code` says what is wrong with the database.',
      response: { 200: diagnostics, ...t.errorResponses(401, 403, 503) },
    }),
    async (request) => {
      const outage = request.outage ?? (await findOutage(deps).catch(() => null))
      const db = outage === null && !isExhausted(deps.poolState()) ? deps.db : deps.reserved
      const checks = [
        ...databaseChecks({ ...deps, db, outage }),
        ...workChecks({ ...deps, db }, callerOf(request)),
        ...machineChecks({ ...deps, db }),
      ]
      const onError = (name: string, err: unknown) =>
        request.log.warn({ check: name, err, code: codeOf(err) }, 'diagnostic check failed')
      const results = await runChecks(skipUnanswerable(checks, outage), { withinMs: WITHIN_MS, onError })
      return { version: deps.version, time: new Date().toISOString(), checks: results }
    },
  )
}
