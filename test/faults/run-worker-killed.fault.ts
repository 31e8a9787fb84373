// kill -9 of the worker while it has runs at many points at once; another worker then takes all of them over.
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { sql } from 'kysely'
import { until } from '#test/support/until.ts'
import { pointsOfDeploys } from './kill-points-of-deploys.ts'
import { pointsOfRuns } from './kill-points-of-runs.ts'
import { MAX_MS, openKillStage, type Parked } from './kill-stage.ts'

const stage = await openKillStage({ after })
const POINTS = { ...pointsOfRuns(stage), ...pointsOfDeploys(stage) }

suite('the worker is killed with -9', () => {
  const parked = new Map<string, Parked>()
  let killedAt = 0

  before(async () => {
    const parking = Object.entries(POINTS).map(async ([name, park]) => parked.set(name, await park()))
    // One that fails must not leave the others alone.
    await Promise.allSettled(parking)
    await Promise.all(parking)
    const approaching = [...parked.values()].map((one) => one.approach?.())
    await Promise.allSettled(approaching)
    await Promise.all(approaching)
    // The one that stops the worker comes after the one that needs it.
    for (const name of Object.keys(POINTS).reverse()) await parked.get(name)!.last?.()
    await stage.worker.kill()
    killedAt = performance.now()
  })

  test('everything that its steps started ends with it', async (t) => {
    await stage.nothingRuns(stage.ours)
    t.diagnostic(`after ${Math.round(performance.now() - killedAt)} ms`)
    for (const one of parked.values()) await one.release?.()
    stage.worker = await stage.startWorker()
  })

  for (const name of Object.keys(POINTS)) test(name, () => parked.get(name)!.check())

  test('every run has ended within a minute', async (t) => {
    const seconds = (performance.now() - killedAt) / 1_000
    t.diagnostic(`after ${seconds.toFixed(1)} s`)
    assert.ok(seconds < 60)
  })

  test('no slot stays acquired, and no job is left', async () => {
    const { rows } = await sql<Record<string, number>>`select
      (select count(*) from actions where has_place) as places,
      (select count(*) from actions where status not in ('completed', 'failed', 'skipped')) as actions,
      (select count(*) from targets where status not in ('completed', 'failed', 'skipped')) as targets,
      (select count(*) from targets, jsonb_array_elements(steps) as step
        where step ->> 'status' not in ('completed', 'failed', 'skipped')) as steps`.execute(stage.db)
    assert.deepEqual(rows[0], { places: 0, actions: 0, targets: 0, steps: 0 })
    await until('the queue is empty', MAX_MS, async () => {
      const { rows } = await sql`select from queue.job where name in ('actions.run', 'targets.run')`.execute(
        stage.db,
      )
      return rows.length === 0
    })
  })

  test('no process is left', () => stage.nothingRuns())
})
