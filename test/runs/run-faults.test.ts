// Internal errors of Gantry, not of a command or the network. Here the database rejects a row: the run fails, its log
// says so, and the operator finds the cause. Other runs are not affected.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { sql } from 'kysely'
import type { StepInput } from '#test/support/inventory.ts'
import { makeRepository } from '#test/support/repository.ts'
import { type Deployable, openRunWorld } from '#test/support/run-world.ts'

const all = { after }
const world = await openRunWorld(all)
const { db, makeDeployable, run, completed, ended, endedWith, logOf } = world
const [gantry] = world.processes

let count = 0
await sql`
  create function is_target_of(target bigint, application bigint) returns boolean language sql as $$
    select exists (select from targets t join actions a on a.id = t.action_id join pipelines p on p.id = a.pipeline_id
      where t.id = target and p.application_id = application) $$`.execute(db)

/** Makes the database do this instead of the requested write. */
async function interfere(event: string, condition: string, instead: string): Promise<() => Promise<void>> {
  const name = `interference_${++count}`
  const table = event.split(' ').at(-1)!
  await sql
    .raw(
      `create function ${name}() returns trigger language plpgsql as $$ begin ${instead}; return new; end $$`,
    )
    .execute(db)
  await sql
    .raw(`create trigger ${name} before ${event} for each row when (${condition}) execute function ${name}()`)
    .execute(db)
  return async () => void (await sql.raw(`drop trigger ${name} on ${table}`).execute(db))
}

const refuse = (why: string) => `raise exception '${why}'`

/** Custom steps only, on the servers of an application that has a secret. */
async function makeSteps(steps: StepInput[], servers = 1): Promise<Deployable> {
  return makeDeployable({
    repository: 'file:///nowhere.git',
    servers,
    steps,
    pipeline: { operation: 'custom', max_parallel_actions: 1 },
    application: { variables: [{ name: 'API_KEY', value: 'swordfish-1234', hidden: true }] },
  })
}

/** Lines of the process log about a target. */
const logLinesOf = (targetId: number) =>
  gantry!.log.map((line) => JSON.parse(line)).filter(({ target_id }) => target_id === targetId)

const jobsOf = async (targetId: number) =>
  (await sql`select from queue.job where data ->> 'target_id' = ${String(targetId)}`.execute(db)).rows.length

const reasonsOf = (target: { steps: { status_reason_code: string }[] }) =>
  target.steps.map((step) => step.status_reason_code)

const LEVEL_ERROR = 50

suite('an internal error', { concurrency: true }, () => {
  test('at the start of a target fails it after ten attempts; the other server and the next run continue', async () => {
    const two = [
      { name: 'one', command: 'echo one' },
      { name: 'two', command: 'echo two' },
    ]
    const shop = await makeSteps(two, 2)
    const condition = `new.server_id = ${shop.serverIds[0]} and new.status = 'in-progress'`
    const stop = await interfere('update on targets', condition, refuse('no room for this row'))
    const id = await run(shop.pipelineId)
    const next = await run(shop.pipelineId)
    const action = await ended(id)
    assert.deepEqual([action.status, action.status_reason_code], ['failed', 'FAILED'])
    const [broken, fine] = action.targets
    assert.deepEqual(reasonsOf(broken), ['FAILED', 'SKIPPED'])
    assert.deepEqual(reasonsOf(fine), ['COMPLETED', 'COMPLETED'])
    assert.match(await logOf(id, 'one'), /^Gantry could not start this run\. .* Gantry's own log\.\n$/)
    assert.equal(await jobsOf(broken.id), 0)
    const lines = logLinesOf(broken.id)
    assert.equal(lines.length, 10)
    for (const { level, err } of lines) {
      assert.equal(level, LEVEL_ERROR)
      assert.equal(err.message, 'no room for this row')
    }
    assert.deepEqual(
      lines.map(({ final }) => final),
      [...Array(9).fill(false), true],
    )
    await stop()
    await ended(next)
    await completed(await run(shop.pipelineId))
  })

  test('in the row of a target fails it too, whatever its steps are', async () => {
    const shop = await makeSteps([{ name: 'only', command: 'true' }], 2)
    const condition = `new.server_id = ${shop.serverIds[0]}`
    await interfere('insert on targets', condition, `new.steps := '[]'`)
    const action = await endedWith('FAILED', await run(shop.pipelineId))
    const [broken, fine] = action.targets
    assert.deepEqual([broken.status, fine.status], ['failed', 'completed'])
    assert.equal(await jobsOf(broken.id), 0)
    assert.ok(logLinesOf(broken.id).length > 0)
  })

  const explode = `echo before; echo explode`
  const exploding = ({ applicationId }: Deployable) =>
    `new.text like '%explode%' and is_target_of(new.target_id, ${applicationId})`

  test('inside a step that is not idempotent fails it, and the process log has the cause', async () => {
    const shop = await makeSteps([
      { name: 'step', command: explode },
      { name: 'never', command: 'true' },
    ])
    await interfere(
      'insert on step_log_chunks',
      exploding(shop),
      refuse('the key swordfish-1234 is unwanted'),
    )
    const action = await endedWith('FAILED', await run(shop.pipelineId))
    const [target] = action.targets
    assert.deepEqual(reasonsOf(target), ['FAILED', 'SKIPPED'])
    assert.match(
      await logOf(action.id, 'step'),
      /An internal error in Gantry interrupted this step\. .* Gantry's own log\.\n$/,
    )
    const [line, ...others] = logLinesOf(target.id)
    assert.equal(others.length, 0)
    assert.deepEqual(
      [line.level, line.action_id, line.target_id, line.step_order, line.step, line.attempt],
      [LEVEL_ERROR, action.id, target.id, 1, 'step', 1],
    )
    assert.match(line.err.message, /^the key \*+ is unwanted$/)
    assert.match(line.err.stack, /step-log\.ts|store-chunk\.ts/)
    assert.equal(await jobsOf(target.id), 0)
  })

  test('inside an idempotent step is retried until it succeeds', async () => {
    const shop = await makeSteps([{ name: 'step', command: explode, idempotent: true }])
    const condition = `${exploding(shop)} and new.attempt < 3`
    await interfere('insert on step_log_chunks', condition, refuse('the key swordfish-1234 is unwanted'))
    const action = await completed(await run(shop.pipelineId))
    const log = await logOf(action.id, 'step')
    assert.equal(log.match(/An internal error in Gantry/g)?.length, 2)
    assert.match(log, /It is retried\.\n.*A new attempt starts here\.\nbefore\nexplode\n$/)
    assert.equal(logLinesOf(action.targets[0].id).length, 2)
  })

  test('inside an idempotent step, every time, fails it after ten attempts', async () => {
    const shop = await makeSteps([{ name: 'step', command: explode, idempotent: true }])
    await interfere('insert on step_log_chunks', exploding(shop), refuse('always'))
    const action = await endedWith('FAILED', await run(shop.pipelineId))
    const lines = logLinesOf(action.targets[0].id)
    assert.deepEqual(
      lines.map(({ attempt }) => attempt),
      [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
    )
  })

  test('inside a step is not hidden by a log that cannot be written', async () => {
    const shop = await makeSteps([{ name: 'step', command: 'echo hello' }])
    const condition = `is_target_of(new.target_id, ${shop.applicationId})`
    await interfere('insert on step_log_chunks', condition, refuse('no chunk at all'))
    const action = await endedWith('FAILED', await run(shop.pipelineId))
    assert.ok(logLinesOf(action.targets[0].id).some(({ err }) => err.message === 'no chunk at all'))
  })

  test('in a deploy with missing steps fails it', async (t) => {
    const repository = await makeRepository(t, { files: { a: 'a' } })
    const steps = ['check-app-environment', 'activate-new-release']
    const shop = await makeDeployable({ repository: repository.address, steps })
    const action = await endedWith('FAILED', await run(shop.pipelineId))
    assert.equal(action.targets[0].current_step.name, 'activate-new-release')
    assert.equal(logLinesOf(action.targets[0].id).length, 1)
  })
})

test('no process is left running, and no secret is in the log', async () => {
  await world.nothingRuns()
  assert.doesNotMatch(gantry!.log.join('\n'), /swordfish/)
})
