// Freezes with Gantry's own processes: held runs start by themselves, whichever process is killed in between.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { sql } from 'kysely'
import { openRunWorld } from '#test/support/run-world.ts'
import { until } from '#test/support/until.ts'

const world = await openRunWorld({ after }, { roles: ['api', 'worker', 'worker'] })
const { ask, db, run, show, completed } = world
const NOW = { name: 'Stop the line', reason: 'Incident', starts_at: '2026-01-01T00:00:00Z' }
const STEP = [{ name: 'one', command: 'true' }]

async function freeze(environmentId: number, body: object = NOW): Promise<number> {
  const { status, body: answer } = await ask('POST', `/environments/${environmentId}/freezes`, body)
  assert.equal(status, 201, JSON.stringify(answer))
  return answer.id
}
const thaw = (id: number) => ask('DELETE', `/freezes/${id}`)
const held = (id: number) =>
  until(`action ${id} is held`, 20_000, async () => (await show(id)).status_reason_code === 'WAITING_FREEZE')
const startedAt = (id: number) =>
  until(`action ${id} has started`, 30_000, async () => {
    const row = await db.selectFrom('actions').select('started_at').where('id', '=', id).executeTakeFirst()
    return row?.started_at ? Date.parse(row.started_at) : false
  })

suite('a freeze', () => {
  test('that is removed: the oldest run starts within five seconds', async (t) => {
    const { pipelineId, environmentId } = await world.makeCustom(STEP)
    const id = await freeze(environmentId)
    const ids = [await run(pipelineId), await run(pipelineId)]
    for (const one of ids) await held(one)
    const at = Date.now()
    await thaw(id)
    const ms = (await startedAt(ids[0]!)) - at
    t.diagnostic(`after ${ms} ms`)
    assert.ok(ms < 5_000, `${ms} ms`)
    for (const one of ids) await completed(one)
  })

  test('that ends by its time: the run starts within five seconds', async (t) => {
    const { pipelineId, environmentId } = await world.makeCustom(STEP)
    const ends = Date.now() + 6_000
    await freeze(environmentId, { ...NOW, ends_at: new Date(ends).toISOString() })
    const id = await run(pipelineId)
    await held(id)
    const ms = (await startedAt(id)) - ends
    t.diagnostic(`after ${ms} ms`)
    assert.ok(ms >= 0 && ms < 5_000, `${ms} ms`)
    await completed(id)
  })

  test('with every worker killed by -9 while it holds runs, and over before another one is up: they start', async () => {
    const { pipelineId, environmentId } = await world.makeCustom(STEP)
    const freezeId = await freeze(environmentId)
    const ids = [await run(pipelineId), await run(pipelineId), await run(pipelineId)]
    for (const one of ids) await held(one)
    for (const worker of world.processes.slice(1)) await worker.kill()
    await thaw(freezeId)
    // Created while nobody works: it comes after those that were held.
    const last = await run(pipelineId)
    world.processes.push(await world.start('worker'))
    const times: number[] = []
    for (const one of [...ids, last]) times.push(await startedAt(one))
    assert.deepEqual(
      times,
      times.toSorted((one, other) => one - other),
    )
    for (const one of [...ids, last]) await completed(one)
  })

  test('nothing that it covers starts after its response, whatever was on its way', async () => {
    const { pipelineId, environmentId } = await world.makeCustom(STEP, {
      pipeline: { max_parallel_actions: 0 },
    })
    const starting = Array.from({ length: 40 }, () => run(pipelineId))
    await Promise.race(starting)
    const freezeId = await freeze(environmentId)
    const { rows } = await sql<{ at: string }>`select clock_timestamp()::timestamptz(3) as at`.execute(db)
    const ids = await Promise.all(starting)
    const started = await until('every run has started or is held', 30_000, async () => {
      const found = await db
        .selectFrom('actions')
        .select(['id', 'started_at', 'status_reason_code', 'status'])
        .where('id', 'in', ids)
        .execute()
      const isOver = found.every(
        (one) => one.started_at !== null || one.status_reason_code === 'WAITING_FREEZE',
      )
      return isOver && { rows: found.filter((one) => one.started_at !== null) }
    })
    for (const { id, started_at } of started.rows)
      assert.ok(Date.parse(started_at!) <= Date.parse(rows[0]!.at), `action ${id} started after the freeze`)
    await thaw(freezeId)
    for (const id of ids) await completed(id)
  })

  test('no run is lost, and no slot stays taken', async () => {
    const { rows } = await sql<Record<string, number>>`select
      (select count(*) from actions where has_place or gate is not null) as actions,
      (select count(*) from targets where gate is not null or status not in ('completed', 'skipped')) as targets`.execute(
      db,
    )
    assert.deepEqual(rows[0], { actions: 0, targets: 0 })
    await until('no environment counts as frozen', 10_000, async () => {
      const frozen = await db.selectFrom('frozen_environments').selectAll().execute()
      return frozen.length === 0
    })
  })
})
