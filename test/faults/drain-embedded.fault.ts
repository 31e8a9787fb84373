// One process with its embedded database, asked to stop while a step runs.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { openDatabase } from '#platform/database/connect.ts'
import { createGate } from '#test/support/gate.ts'
import { later } from '#test/support/later.ts'
import { call, type GantryProcess, startGantry, temporaryHome } from '#test/support/process.ts'
import { createInventory } from '#test/support/run-inventory.ts'
import { until } from '#test/support/until.ts'
import { createPerson } from '#test/support/world.ts'

test('a single process drains: its step ends, the rest of the run waits for the next start, and a second signal ends the wait', async (t) => {
  const { start, run, ended, gates } = await openSingle(t)
  const first = await start()
  const id = await run(first)
  await gates.one.reached()
  await askToStop(first)
  assert.equal(await gates.one.left(), 0, 'the step still runs')
  const exited = once(first.child, 'close')
  await gates.one.open()
  await exited
  assert.equal(first.child.exitCode, 0)
  assert.deepEqual([await gates.one.left(), await gates.two.entered()], [1, 0])

  const second = await start()
  await gates.two.reached()
  await askToStop(second)
  const askedAt = performance.now()
  assert.equal(await second.stop(), 0)
  assert.ok(performance.now() - askedAt < 20_000)

  const third = await start()
  await gates.two.open()
  assert.equal((await ended(third, id)).status, 'completed')
  assert.deepEqual([await gates.one.entered(), await gates.two.entered()], [1, 2])
  assert.equal(await third.stop(), 0)
})

/** Resolves when it drains. */
async function askToStop(gantry: GantryProcess): Promise<void> {
  gantry.child.kill('SIGTERM')
  await until('it drains', 20_000, async () => (await call(gantry, 'GET', '/readyz')).status === 503)
}

/** A home, and in it a pipeline of two steps on this machine; only the second one may be repeated. */
async function openSingle(t: TestContext) {
  const folder = await mkdtemp(join(tmpdir(), 'gantry-single-'))
  later(t, () => rm(folder, { recursive: true, force: true }))
  await chmod(folder, 0o777)
  const home = await temporaryHome(t)
  const key = randomBytes(32)
  const gates = { one: createGate(folder, 'one'), two: createGate(folder, 'two') }
  let prepared: { pipelineId: number; token: string } | undefined

  async function prepare() {
    const socket = {
      host: join(home, 'postgres'),
      port: 5432,
      ssl: false,
      user: 'gantry',
      database: 'gantry',
    }
    const { db, close } = openDatabase(socket, { onIdleError: () => {} })
    try {
      const admin = await createPerson(db, { admin: true })
      const inventory = await createInventory(db, { key, folder, admin })
      const environmentId = await inventory.makeEnvironment()
      const server_id = await inventory.makeServer(environmentId, inventory.newLocalServer())
      const steps = [
        { name: 'one', command: gates.one.command },
        { name: 'two', command: gates.two.command, idempotent: true },
      ]
      const settings = { resource_type: 'server', server_id, operation: 'custom' } as const
      const pipelineId = await inventory.makePipeline(environmentId, steps, settings)
      return { pipelineId, token: admin.token }
    } finally {
      await close()
    }
  }

  return {
    gates,
    async start(): Promise<GantryProcess> {
      const gantry = await startGantry(t, {
        GANTRY_HOME: home,
        GANTRY_SECRET_KEY: key.toString('hex'),
        GANTRY_DRAIN_SECONDS: '120',
        GANTRY_SAMPLE: 'false',
      })
      prepared ??= await prepare()
      return gantry
    },
    async run(gantry: GantryProcess): Promise<number> {
      const { pipelineId, token } = prepared!
      const { status, body } = await call(gantry, 'POST', `/pipelines/${pipelineId}/actions`, {
        token,
        body: {},
      })
      assert.equal(status, 201, JSON.stringify(body))
      return body.id
    },
    ended: (gantry: GantryProcess, id: number) =>
      until('the run has ended', 60_000, async () => {
        const { body } = await call(gantry, 'GET', `/actions/${id}`, { token: prepared!.token })
        return ['completed', 'failed', 'skipped'].includes(body.status) && body
      }),
  }
}
