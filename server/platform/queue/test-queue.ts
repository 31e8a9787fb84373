import type { TestContext } from 'node:test'
import { sql } from 'kysely'
import { type Static, Type } from 'typebox'
import { openListener } from '#platform/database/listen.ts'
import { createTestDatabase } from '#test/support/database.ts'
import { DEAD_LETTERS, type Log, type QueueCore, type WorkerTimings } from './core.ts'
import type { JobHandlers } from './handler.ts'
import type { JobCatalog, JobDefinition } from './jobs.ts'
import { jobs } from './jobs.ts'
import { installQueue, openQueue, type Queue } from './open-queue.ts'
import { startWorker, type Worker } from './worker.ts'

const Numbered = Type.Object({ number: Type.Integer() }, { additionalProperties: false })
export type Numbered = Static<typeof Numbered>

const numbered = {
  payload: Numbered,
  retryLimit: 2,
  retryDelaySeconds: 0,
  timeoutSeconds: 60,
  concurrency: 200,
  batchSize: 200,
} satisfies JobDefinition

/** The real jobs, and some that have one property each. */
export const testJobs = {
  ...jobs,
  'test.count': numbered,
  'test.delayed': { ...numbered, retryDelaySeconds: 1 },
  'test.hasty': { ...numbered, timeoutSeconds: 0.1, retryLimit: 0 },
  'test.kept': { ...numbered, keepFinishedSeconds: 60 },
  'test.rested': { ...numbered, restMs: 100 },
  'test.periodic': {
    ...numbered,
    payload: Type.Object({}),
    unique: 'waiting-or-running',
    everySeconds: 3_600,
    keepFinishedSeconds: 7_200,
  },
} satisfies JobCatalog
export type TestJobs = typeof testJobs

export type TestQueue = {
  queue: Queue<TestJobs>
  settings: Parameters<typeof installQueue>[0]
  logged: LogLine[]
  enqueue: (
    name: 'test.count' | 'test.delayed' | 'test.hasty' | 'test.kept' | 'test.rested',
    count?: number,
  ) => Promise<void>
  work: (handlers: JobHandlers<TestJobs>, timings?: Partial<WorkerTimings>) => Promise<Worker>
}
export type LogLine = { level: string; message: string; at: number } & Record<string, unknown>

/** A separate database with an installed queue. Workers and connections end with the test. */
export async function createTestQueue(t: TestContext): Promise<TestQueue> {
  const database = await createTestDatabase({ empty: true })
  const cleanups = [database.drop]
  t.after(async () => {
    for (const cleanUp of cleanups.reverse()) await cleanUp()
  })
  await installQueue(database.settings, testJobs)
  const { log, logged } = createTestLog()
  const onError = () => {}
  const queue = await openQueue({ settings: database.settings, onError, catalog: testJobs })
  cleanups.push(queue.close)
  return {
    queue,
    settings: database.settings,
    logged,
    enqueue: (name, count = 1) =>
      queue.db.transaction().execute((trx) =>
        queue.enqueue(
          trx,
          name,
          Array.from({ length: count }, (_, number) => ({ number })),
        ),
      ),
    async work(handlers, timings) {
      const listener = await openListener(database.settings, { onError, retryMs: 100 })
      cleanups.push(listener.close)
      const worker = await startWorker({
        queue,
        heartbeats: queue.db,
        listener,
        handlers,
        log,
        timings: { abortGraceMs: 100, lastWritesMs: 500, ...timings },
      })
      cleanups.push(() => worker.stop({ graceMs: 0 }))
      return worker
    },
  }
}

function createTestLog(): { log: Log; logged: LogLine[] } {
  const logged: LogLine[] = []
  const write = (level: string) => (fields: object, message: string) => {
    logged.push({ level, message, at: performance.now(), ...fields })
  }
  return {
    logged,
    log: { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') },
  }
}

export async function countDeadLetters(queue: QueueCore): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from queue.job where name = ${DEAD_LETTERS}`.execute(queue.db)
  return rows[0]!.count
}
