import { randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import type { Database } from '#platform/database/connect.ts'
import { createInventory } from '#test/support/run-inventory.ts'
import { startSshd } from '#test/support/sshd.ts'
import { createPerson } from '#test/support/world.ts'
import type { Bench } from './bench.ts'
import { alternate, median, ROUNDS } from './measure.ts'
import { timeRun } from './run-action.ts'
import { startService } from './service.ts'

const STEPS = 6
const RUNS_OF = { full: 10, smoke: 1 }

/** A run of six steps that do nothing, over SSH, against the same with steps that end with their connection. */
export const runSsh: Bench = async (workbench, size) => {
  const { db, settings } = await workbench.createDatabase('run_ssh')
  const sshd = await startSshd({ after: (close) => workbench.defer(close) })
  const key = randomBytes(32)
  const { url } = await startService(workbench, settings, { GANTRY_SECRET_KEY: key.toString('hex') })
  const folder = await workbench.makeFolder()
  const inventory = await createInventory(db, { key, folder, admin: await createPerson(db, { admin: true }) })
  const environmentId = await inventory.makeEnvironment()
  const serverId = await inventory.makeServer(environmentId, await inventory.newSshServer(sshd, 0))
  const steps = Array.from({ length: STEPS }, (_, index) => ({
    name: `nothing-${index + 1}`,
    command: 'true',
  }))
  const pipelineId = await inventory.makePipeline(environmentId, steps, {
    ...{ resource_type: 'server', server_id: serverId, operation: 'custom' },
  })
  const timeRuns = async () => {
    const times: number[] = []
    for (let number = 0; number < RUNS_OF[size]; number += 1)
      times.push(await timeRun(db, { url, token: inventory.owner.token, pipelineId }))
    return median(times)
  }
  await timeRuns()
  const times = await alternate(size === 'smoke' ? 1 : ROUNDS, {
    detached: timeRuns,
    attached: () => withOlderWorker(db, timeRuns),
  })
  const [ours, floor] = [median(times.detached), median(times.attached)]
  return [
    {
      name: 'run-ssh',
      value: ours,
      unit: 'ms',
      ratio: ours / floor,
      floor: 'attached-steps',
      goal: { of: 'ratio', is: 'at most', limit: 1.15 },
      details: { detachedMs: times.detached, attachedMs: times.attached },
    },
  ]
}

/** While it is online, no step is detached. */
async function withOlderWorker<Result>(db: Database, work: () => Promise<Result>): Promise<Result> {
  await sql`
    insert into workers (id, version, draining_since, seen_at, reattaches)
    values (gen_random_uuid(), '0.2.0', now(), now() + interval '1 hour', false)`.execute(db)
  try {
    return await work()
  } finally {
    await sql`delete from workers where not reattaches`.execute(db)
  }
}
