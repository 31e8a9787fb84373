// All processes of an installation, restarted one after the other under load: no run fails, no step runs twice.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { call, type GantryProcess } from '#test/support/process.ts'
import { openRunWorld } from '#test/support/run-world.ts'
import { until } from '#test/support/until.ts'

const world = await openRunWorld(
  { after },
  { roles: ['api'], environment: { GANTRY_DRAIN_SECONDS: '60', GANTRY_STOP_GRACE_MS: '0' } },
)
const MAX_MS = 180_000
const MACHINES = ['m1', 'm1', 'm2']

const startWorker = (name: string) => world.start('worker', { GANTRY_WORKER_NAME: name })
const apis: GantryProcess[] = [world.processes[0]!, await world.start('api')]
const workers: GantryProcess[] = []
for (const name of MACHINES) workers.push(await startWorker(name))

/** Not idempotent, and long enough to be interrupted by a stop that does not wait. */
const noting = (name: string) => ({
  name,
  command: `sleep 0.7; echo "$GANTRY_ACTION_ID ${name}" >> ${join(world.notes, 'steps')}`,
})

async function makePipeline(worker_name: string): Promise<number> {
  const { pipelineId } = await world.makeCustom([noting('one'), noting('two')], {
    server: { worker_name, max_parallel_actions: 0 },
    pipeline: { max_parallel_actions: 0 },
  })
  return pipelineId
}

test('a second SIGTERM ends the wait', async () => {
  const worker = workers[2]!
  const gate = world.makeGate('long')
  const { pipelineId } = await world.makeCustom([{ name: 'long', command: gate.command, idempotent: true }], {
    server: { worker_name: 'm2' },
  })
  const id = await world.run(pipelineId)
  await gate.reached()
  const ended = new Promise((resolve) => worker.child.once('close', resolve))
  worker.child.kill('SIGTERM')
  await until('it drains', 20_000, async () => {
    const row = await world.db
      .selectFrom('workers')
      .select('id')
      .where('draining_since', 'is not', null)
      .execute()
    return row.length > 0
  })
  const askedAt = performance.now()
  worker.child.kill('SIGTERM')
  await ended
  assert.ok(performance.now() - askedAt < 15_000)
  assert.equal(worker.child.exitCode, 0)
  gate.open()
  workers[2] = await startWorker('m2')
  await world.completed(id)
})

test('all processes restart one after the other under load, and no run fails', async () => {
  const pipelines = [await makePipeline('m1'), await makePipeline('m2')]
  const started: number[] = []
  let isOver = false

  async function startRun(n: number): Promise<void> {
    const { token } = world.owner
    const path = `/pipelines/${pipelines[n % pipelines.length]}/actions`
    // As behind a load balancer: a process that does not answer is passed over.
    for (const api of [apis[n % apis.length]!, ...apis]) {
      const answer = await call(api, 'POST', path, { token, body: {} }).catch(() => null)
      if (answer === null || answer.status === 503) continue
      assert.equal(answer.status, 201, JSON.stringify(answer.body))
      started.push(answer.body.id)
      return
    }
    assert.fail('no process answered')
  }
  const load = (async () => {
    for (let n = 0; !isOver; n += 1) {
      await startRun(n)
      await delay(100)
    }
  })()

  for (const [index, name] of MACHINES.entries()) {
    assert.equal(await workers[index]!.stop(), 0)
    workers[index] = await startWorker(name)
  }
  for (const index of apis.keys()) {
    const old = apis[index]!
    // The other one takes over before this one stops.
    apis[index] = apis[(index + 1) % apis.length]!
    assert.equal(await old.stop(), 0)
    apis[index] = await world.start('api')
  }
  isOver = true
  await load

  assert.ok(started.length > 20, `${started.length} runs`)
  const counted = () =>
    world.db.selectFrom('actions').select(['id', 'status', 'status_reason_code']).where('id', 'in', started)
  await until('all runs have ended', MAX_MS, async () =>
    (await counted().execute()).every(({ status }) => status === 'completed' || status === 'failed'),
  )
  const failed = (await counted().execute()).filter(({ status }) => status !== 'completed')
  assert.deepEqual(failed, [])
  const lines = (await readFile(join(world.notes, 'steps'), 'utf8')).trim().split('\n').sort()
  assert.deepEqual(lines, started.flatMap((id) => [`${id} one`, `${id} two`]).sort())
})
