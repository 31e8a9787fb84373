// An upgrade, worker by worker. A worker of the release before could not continue what runs on a server by itself: while one is
// online, steps end with their connection, as before.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { createTestDatabase, testServer } from '#test/support/database.ts'
import { later } from '#test/support/later.ts'
import { openRunWorld } from '#test/support/run-world.ts'
import { startSshd } from '#test/support/sshd.ts'
import { until } from '#test/support/until.ts'
import { provideBeforeDetachedSteps } from './release-before.ts'

const WITHIN_MS = 120_000
const ATTACHED =
  /^This step would not survive a lost connection\. A worker of an older release is online, which could not continue it\.\n/

test('steps are attached while a worker of the release before is online, and none runs twice', async (t) => {
  const { settings, drop } = await createTestDatabase({ empty: true })
  later(t, drop)
  const program = await provideBeforeDetachedSteps(t)
  const world = await openRunWorld(t, {
    roles: ['api', 'worker'],
    database: { ...testServer(), ...settings },
    environment: { GANTRY_HEARTBEAT_SECONDS: '10', GANTRY_POLL_MS: '500' },
    program,
  })
  const { db, notes } = world
  const [oldApi, oldWorker] = world.processes as [(typeof world.processes)[0], (typeof world.processes)[0]]
  const sshd = await startSshd(t, { settings: ['MaxSessions 100'] })

  /** In the middle of its first step of two. */
  async function startRun(name: string) {
    const [file, gate] = [join(notes, name), world.makeGate(name)]
    const say = `n=$((n+1)); echo "line $n" >> '${file}'; echo "line $n"`
    const first = `echo first >> '${file}.ran'; until [ -e '${join(notes, name)}.open' ]; do ${say}; sleep 0.1; done`
    const steps = [
      { name: 'first', command: first },
      { name: 'second', command: `echo second >> '${file}.ran'; echo over` },
    ]
    const server = await world.newSshServer(sshd, 0)
    const { pipelineId, serverId } = await world.makeCustom(steps, { server })
    const id = await world.run(pipelineId)
    const written = () => readFile(file, 'utf8').catch(() => '')
    const printsOn = async () => {
      const before = (await written()).length
      await until(`${name} prints on`, WITHIN_MS, async () => (await written()).length > before + 20)
    }
    await printsOn()
    return {
      id,
      printsOn,
      log: (step: string) => world.logOf(id, step),
      written,
      tokens: () =>
        db.selectFrom('detached_steps').select('token').where('server_id', '=', serverId).execute(),
      worker: async () => {
        const target = db.selectFrom('targets').select('worker_name').where('action_id', '=', id)
        return (await target.executeTakeFirstOrThrow()).worker_name
      },
      ran: () => readFile(`${file}.ran`, 'utf8'),
      open: () => gate.open(),
    }
  }

  // The release before runs it, and continues to, while the new one migrates and starts beside it.
  const inherited = await startRun('inherited')
  const { port: PORT } = new URL(oldApi.url!)
  assert.equal(await oldApi.stop(), 0)
  await world.start('api', { PORT })
  await inherited.printsOn()
  await inherited.open()
  await world.completed(inherited.id)
  assert.equal(await inherited.ran(), 'first\nsecond\n')

  // It takes nothing more, and is online: what the new one starts would be lost with that.
  const newWorker = await world.start('worker', { GANTRY_WORKER_NAME: 'new' })
  const drainOld = async () => {
    const { body } = await world.ask('GET', '/workers')
    const { id } = body.find(({ name }: { name: string }) => name !== 'new')
    assert.equal((await world.ask('POST', `/workers/${id}/drain`)).body.draining, true)
  }
  await drainOld()
  const beside = await startRun('beside')
  assert.equal(await beside.worker(), 'new')
  assert.deepEqual(await beside.tokens(), [])
  assert.match(await beside.log('first'), ATTACHED)

  // It leaves in the middle of a step. What begins now is detached.
  assert.equal(await oldWorker.stop(), 0)
  await beside.open()
  await world.completed(beside.id)
  assert.equal((await beside.log('first')).replace(ATTACHED, ''), await beside.written())
  const alone = await startRun('alone')
  assert.equal(await beside.log('second'), 'over\n')
  assert.equal((await alone.tokens()).length, 1)

  // It joins in the middle of a detached step: that one continues, and the next is attached.
  const joined = await world.start('worker', { GANTRY_WORKER_NAME: 'old' }, program)
  await alone.printsOn()
  await drainOld()
  await alone.open()
  await world.completed(alone.id)
  assert.equal(await alone.log('first'), await alone.written())
  assert.match(await alone.log('second'), ATTACHED)
  assert.equal(await alone.ran(), 'first\nsecond\n')
  assert.equal(await joined.stop(), 0)

  // It is the only one left: it knows nothing of what runs on, and does not start it again.
  const abandoned = await startRun('abandoned')
  assert.equal((await abandoned.tokens()).length, 1)
  await world.start('worker', { GANTRY_WORKER_NAME: 'old' }, program)
  assert.equal(await newWorker.stop(), 0)
  await world.endedWith('FAILED_WORKER_LOST', abandoned.id)
  assert.equal(await abandoned.ran(), 'first\n')
})
