// A worker process for maintenance.test.ts: it fetches a job, reports it on stdout, and never finishes.
import { openListener } from '#platform/database/listen.ts'
import { openQueue } from './open-queue.ts'
import { testJobs } from './test-queue.ts'
import { startWorker } from './worker.ts'

const settings = JSON.parse(process.env.SETTINGS!)
const silent = () => {}
const queue = await openQueue({ settings, onError: silent, catalog: testJobs })
await startWorker({
  queue,
  heartbeats: queue.db,
  listener: await openListener(settings, { onError: silent }),
  handlers: {
    'test.count': async () => {
      process.stdout.write('running\n')
      await new Promise(silent)
    },
  },
  log: { debug: silent, info: silent, warn: silent, error: silent },
  timings: { heartbeatMs: 200 },
})
