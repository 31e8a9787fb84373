import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { callerOf, instanceAdmin } from '#access/authorization/enforce.ts'
import { Exactly, errorResponses, TextOrNull, Timestamp, Word } from '#platform/http/schemas.ts'
import { type DatabaseDeps, databaseChecks } from './database-checks.ts'
import { type MachineDeps, machineChecks } from './machine-checks.ts'
import { runChecks } from './run-checks.ts'
import { type WorkDeps, workChecks } from './work-checks.ts'

export type DiagnosticsDeps = DatabaseDeps & WorkDeps & MachineDeps

const WITHIN_MS = 5_000

const check = Exactly(
  {
    name: Type.String({ description: 'What was checked, such as `database`, `workers` or `disk`.' }),
    status: Word(['ok', 'warning', 'failed'], {
      description:
        '`warning`: look into it. `failed`: something does not work. Checks that hang have failed.',
    }),
    message: Type.String({ description: 'What was found, in a sentence.' }),
    remedy: TextOrNull({ description: 'What to do about it; null when the status is `ok`.' }),
  },
  { title: 'DiagnosticCheck' },
)

const diagnostics = Exactly(
  {
    version: Type.String({ description: 'The running version.' }),
    time: Type.Unsafe<string>({
      ...Timestamp,
      description: 'What time it is for the process that answers.',
    }),
    checks: Type.Array(check, { description: 'In a fixed order; later versions may add some.' }),
  },
  { title: 'Diagnostics' },
)

export const diagnosticsRoutes: FastifyPluginAsyncTypebox<DiagnosticsDeps> = async (app, deps) => {
  app.get(
    '/diagnostics',
    {
      config: { access: instanceAdmin },
      schema: {
        tags: ['Operations'],
        operationId: 'readDiagnostics',
        summary: 'Check the installation',
        description:
          'Looks at the database, workers, queue, deliveries, servers, disk, key and settings, and says what to do about what is wrong. Answers within about five seconds, always with 200; `gantry doctor` shows the result. What concerns the machine is that of the process that answers.',
        response: { 200: diagnostics, ...errorResponses(401, 403) },
      },
    },
    async (request) => {
      const checks = [...databaseChecks(deps), ...workChecks(deps, callerOf(request)), ...machineChecks(deps)]
      const onError = (name: string, err: unknown) =>
        request.log.warn({ check: name, err }, 'diagnostic check failed')
      const results = await runChecks(checks, { withinMs: WITHIN_MS, onError })
      return { version: deps.version, time: new Date().toISOString(), checks: results }
    },
  )
}
