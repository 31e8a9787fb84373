// Local servers belong to the workers of one name: what waits for them, what wakes it, who may take it, and draining.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { sql } from 'kysely'
import { openReceiver } from '#test/support/deliveries.ts'
import { scrape } from '#test/support/metrics.ts'
import { call, type GantryProcess } from '#test/support/process.ts'
import { openRunWorld } from '#test/support/run-world.ts'
import { until } from '#test/support/until.ts'

const world = await openRunWorld({ after }, { roles: ['api'] })
const { db, run, show, completed, cancel } = world
const MAX_MS = 60_000
const m1 = await world.start('worker', {
  GANTRY_WORKER_NAME: 'm1',
  GANTRY_WORKER_PORT: '0',
  GANTRY_METRICS_TOKEN: 'a-token-for-metrics',
  GANTRY_TARGETS_PER_WORKER: '3',
  GANTRY_ALLOW_TARGETS: '127.0.0.0/8',
})
const admin = world.owner.token

const pipelineOn = async (worker_name: string | null, command = 'true') =>
  (await world.makeCustom([{ name: 'one', command }], { server: { worker_name, max_parallel_actions: 0 } }))
    .pipelineId
const reasonOf = async (id: number) => (await show(id)).status_reason_code
const waitsForWorker = (id: number) =>
  until('it waits for a worker', MAX_MS, async () => (await reasonOf(id)) === 'WAITING_WORKER')
const workersOf = async () => (await world.ask('GET', '/workers')).body
const byName = async (name: string) => (await workersOf()).find((one: { name: string }) => one.name === name)

const healthUrl = ({ output }: GantryProcess) =>
  new URL(
    output
      .find((one) => one.startsWith('health at '))!
      .split(' ')
      .at(-1)!,
  ).origin

let m2: GantryProcess

test('a worker is listed with its name, release and capacity', async () => {
  const { id, started_at, last_seen_at, version, ...rest } = await byName('m1')
  assert.deepEqual(rest, { name: 'm1', online: true, draining: false, running_targets: 0, capacity: 3 })
  assert.ok(id && started_at && last_seen_at && version)
})

const createServer = async (more: object = {}) => {
  const body = { ...world.newLocalServer(), ...more }
  const made = await world.ask('POST', `/environments/${await world.makeEnvironment()}/servers`, body)
  assert.equal(made.status, 201, JSON.stringify(made.body))
  return made.body
}

test('a new local server is the machine of the workers that are online', async () => {
  assert.equal((await createServer()).worker_name, 'm1')
  assert.equal((await createServer({ worker_name: null })).worker_name, null)
})

test('a server without a name runs while all workers share one; another one waits, and starts when its worker comes', async () => {
  const [anywhere, elsewhere] = [await pipelineOn(null), await pipelineOn('m2')]
  await completed(await run(anywhere))
  const waiting = await run(elsewhere)
  await waitsForWorker(waiting)
  assert.equal((await show(waiting)).status_reason_human_readable, 'Waiting: no worker can take it')
  m2 = await world.start('worker', { GANTRY_WORKER_NAME: 'm2' })
  await completed(waiting)
  const [target] = await db
    .selectFrom('targets')
    .select('worker_name')
    .where('action_id', '=', waiting)
    .execute()
  assert.equal(target!.worker_name, 'm2')

  const undecided = await run(anywhere)
  await waitsForWorker(undecided)
  await cancel(undecided)
  assert.equal(await reasonOf(undecided), 'FAILED_CANCELLED')
})

test('with workers on several machines, a new local server names none of them by itself', async () => {
  assert.equal((await createServer()).worker_name, null)
  const server = await createServer({ worker_name: 'm2' })
  assert.equal(server.worker_name, 'm2')
  const { body } = await world.ask('PUT', `/servers/${server.id}`, { worker_name: null })
  assert.equal(body.worker_name, null)
})

test('a drained worker ends its step and hands over the rest; undrained it takes targets again', async () => {
  const gate = world.makeGate('first')
  const { pipelineId } = await world.makeCustom(
    [
      { name: 'first', command: gate.command },
      { name: 'second', command: 'true' },
    ],
    { server: { worker_name: 'm2', max_parallel_actions: 0 } },
  )
  const id = await run(pipelineId)
  await gate.reached()
  const { id: worker } = await byName('m2')
  assert.equal((await world.ask('POST', `/workers/${worker}/drain`)).body.draining, true)
  const next = await run(await pipelineOn('m2'))
  await waitsForWorker(next)
  gate.open()
  const stepsOf = async () => (await show(id)).targets[0].steps.map((step: { status: string }) => step.status)
  await until('the step ends', MAX_MS, async () => (await stepsOf())[0] === 'completed')
  await until('nothing runs there', MAX_MS, async () => (await byName('m2')).running_targets === 0)
  assert.deepEqual(await stepsOf(), ['completed', 'pending'])
  assert.equal((await world.ask('DELETE', `/workers/${worker}/drain`)).body.draining, false)
  await completed(id)
  await completed(next)
})

test('what a lost machine was in the middle of is ended by another worker when it is cancelled', async () => {
  const gate = world.makeGate('lost')
  const { pipelineId } = await world.makeCustom([{ name: 'lost', command: gate.command, idempotent: true }], {
    server: { worker_name: 'm2' },
  })
  const id = await run(pipelineId)
  await gate.reached()
  await m2.kill()
  await sql`update workers set seen_at = now() - interval '1 minute' where name = 'm2'`.execute(db)
  await sql`update queue.job set heartbeat_on = now() - interval '1 hour'
    where name = 'targets.run' and state = 'active'`.execute(db)
  await until('it waits for its worker', MAX_MS, async () => {
    const { rows } = await sql`select from queue.job
      where name = 'targets.run' and state < 'active' and group_id = 'm2'`.execute(db)
    return rows.length > 0
  })
  assert.equal((await show(id)).status, 'in-progress')
  await cancel(id)
  await world.endedWith('FAILED_CANCELLED', id)
  gate.open()
})

test('a worker-only process serves health, and metrics to authorized callers', async () => {
  const url = healthUrl(m1)
  assert.equal((await call({ url }, 'GET', '/healthz')).status, 200)
  assert.equal((await call({ url }, 'GET', '/readyz')).status, 200)
  assert.equal((await call({ url }, 'GET', '/users/me')).status, 404)
  assert.equal((await call({ url }, 'GET', '/metrics')).status, 401)
  for (const token of ['a-token-for-metrics', admin]) {
    const answer = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${token}` } })
    assert.equal(answer.status, 200)
    assert.match(await answer.text(), /gantry_queue_jobs/)
  }
})

test('each process counts what it did: calls, runs, steps, scheduling passes, deliveries', async (t) => {
  const api = world.processes[0]!
  const increase = async (url: string) => {
    const { samples: before } = await scrape(url, admin)
    return async (name: string) => (await scrape(url, admin)).samples.get(name)! - before.get(name)!
  }
  const [ofApi, ofWorker] = [await increase(api.url!), await increase(healthUrl(m1))]
  const receiver = await openReceiver(t)
  const steps = ['true', 'false', 'true'].map((command, n) => ({ name: `step ${n}`, command }))
  const { pipelineId } = await world.makeCustom(steps, { server: { worker_name: 'm1' } })
  const { status } = await world.ask('POST', `/pipelines/${pipelineId}/hooks/outgoing`, {
    name: 'Notify',
    target_url: `${receiver.url}/notify`,
    settings: { request_body: { status: '{{ action.status }}' } },
  })
  assert.equal(status, 201)
  const hook = await world.makeHook(pipelineId)
  await world.endedWith('FAILED', await world.fire(hook))
  assert.equal((await fetch(`${api.url}${hook.path}`, { method: 'POST', body: '{}' })).status, 403)
  assert.equal((await fetch(`${api.url}/hooks/unknown/trigger`, { method: 'POST', body: '{}' })).status, 404)
  const waiting = await run(await pipelineOn('m9'))
  await waitsForWorker(waiting)
  assert.equal((await scrape(api.url!, admin)).samples.get('gantry_targets_without_worker'), 1)
  await cancel(waiting)

  assert.equal(await ofApi('gantry_hook_calls_total{verdict="accepted"}'), 1)
  assert.equal(await ofApi('gantry_hook_calls_total{verdict="rejected_signature"}'), 1)
  assert.equal(await ofApi('gantry_hook_calls_total{verdict="unknown_hook"}'), 1)
  assert.equal(await ofApi('gantry_hook_call_seconds_count'), 3)
  assert.equal(await ofApi('gantry_runs_ended_total{status="failed",reason="FAILED_CANCELLED"}'), 1)
  assert.equal(await ofWorker('gantry_runs_started_total'), 1)
  assert.equal(await ofWorker('gantry_run_queue_seconds_count'), 1)
  assert.equal(await ofWorker('gantry_runs_ended_total{status="failed",reason="FAILED"}'), 1)
  assert.equal((await scrape(healthUrl(m1), admin)).samples.get('gantry_workers{state="online"}'), 1)
  for (const status of ['completed', 'failed', 'skipped'])
    assert.equal(await ofWorker(`gantry_steps_ended_total{status="${status}"}`), 1, status)
  assert.ok((await ofWorker('gantry_scheduling_pass_seconds_count')) >= 3)
  assert.ok((await ofWorker('gantry_scheduling_moves_total{kind="action"}')) >= 3)
  await receiver.until(2)
  await until('both deliveries are counted', MAX_MS, async () => {
    const name = 'gantry_delivery_attempts_total{outcome="delivered"}'
    return (await ofWorker(name)) >= 2
  })
})
