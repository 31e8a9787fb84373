import { mkdir } from 'node:fs/promises'
import { createTestTree } from '#test/support/world.ts'
import type { Bench } from './bench.ts'
import { makeIdlePipeline } from './idle-pipeline.ts'
import { alternate, median } from './measure.ts'
import { timeRun } from './run-action.ts'
import { startService } from './service.ts'

const STEPS = 6
/** As many as a small machine has cores: more would measure how processes share them. */
const SLOTS = 2
const SIZES = { full: { targets: 200, rounds: 3 }, smoke: { targets: 4, rounds: 1 } }

/** One run on many local targets, against one run on one target, as often as the slots allow. */
export const fleet: Bench = async (workbench, size) => {
  const { targets, rounds } = SIZES[size]
  const run = async (servers: number) => {
    const { db, settings } = await workbench.createDatabase('fleet')
    const tree = await createTestTree(db)
    const folder = await workbench.makeFolder()
    for (let number = 1; number <= servers; number += 1) await mkdir(`${folder}/${number}`)
    const { pipelineId } = await makeIdlePipeline(db, tree, folder, { steps: STEPS, servers })
    const { url } = await startService(workbench, settings, { GANTRY_TARGETS_PER_WORKER: String(SLOTS) })
    const once = () => timeRun(db, { url, token: tree.owner.token, pipelineId })
    return once
  }
  const [many, one] = [await run(targets), await run(1)]
  // The others are long enough to warm up by themselves.
  await one()
  const repeated = async () => {
    const times: number[] = []
    for (let number = 0; number < Math.min(targets, 20); number += 1) times.push(await one())
    return median(times)
  }
  const times = await alternate(rounds, { many, one: repeated })
  const perTarget = (median(times.many) * SLOTS) / targets
  return [
    {
      name: 'fleet',
      value: perTarget,
      unit: 'ms',
      ratio: perTarget / median(times.one),
      floor: 'one-target',
      goal: { of: 'ratio', is: 'at most', limit: 1.5 },
      details: { targets, slots: SLOTS, manyMs: times.many, oneMs: times.one },
    },
  ]
}
