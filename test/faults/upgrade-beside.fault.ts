// The release before beside this one, on one database and under load, while this one migrates.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { createTestDatabase, testServer } from '#test/support/database.ts'
import { later } from '#test/support/later.ts'
import { call } from '#test/support/process.ts'
import { openRunWorld } from '#test/support/run-world.ts'
import { startSshd } from '#test/support/sshd.ts'
import { assertRanOnce, assertStartedOnce, notingSteps, startCalls } from '#test/support/steady-calls.ts'
import { provideBefore } from './release-before.ts'

const LOAD_MS = 3_000

test('processes of 0.1.0 work beside ours, also while we migrate, and every call has its run', async (t) => {
  const { settings, drop } = await createTestDatabase({ empty: true })
  later(t, drop)
  const program = await provideBefore(t)
  const world = await openRunWorld(t, {
    roles: ['api', 'worker'],
    database: { ...testServer(), ...settings },
    program,
  })
  const { db, notes, processes } = world
  const steps = notingSteps(join(notes, 'steps'))
  const unlimited = { server: { max_parallel_actions: 0 }, pipeline: { max_parallel_actions: 0 } }
  const { pipelineId } = await world.makeCustom(steps, unlimited)
  const hook = await world.makeHook(pipelineId)
  const [oldApi, oldWorker] = processes as [(typeof processes)[0], (typeof processes)[0]]
  const urls = [oldApi.url!]

  const calls = startCalls({ urls: () => urls, hooks: [hook], senders: 3, gapMs: 500 })
  await delay(LOAD_MS)
  const alone = calls.actions.size
  const newApi = await world.start('api')
  urls.push(newApi.url!)
  const newWorker = await world.start('worker')
  await delay(LOAD_MS)
  await calls.stop().catch((error) => {
    const lines = [oldApi, newApi].flatMap(({ log }) => log).filter((line) => /"level":50/.test(line))
    throw new Error(`${error.message}\n${lines.join('\n')}`)
  })
  t.diagnostic(`${calls.actions.size} calls, ${alone} of them before the migration began`)
  assert.deepEqual([...calls.refusals], [])
  await assertStartedOnce(db, calls.actions, [])
  await assertRanOnce(db, join(notes, 'steps'), [...calls.actions.values()])
  // The workers of then have no name.
  const named = await db.selectFrom('targets').select('worker_name').distinct().execute()
  assert.equal(named.length, 2, 'both workers ran targets')
  for (const api of [oldApi, newApi])
    for (const path of [
      '/actions?per_page=100',
      '/overview',
      `/actions/${[...calls.actions.values()].at(-1)}`,
    ]) {
      const { status, body } = await call(api, 'GET', path, { token: world.owner.token })
      assert.equal(status, 200, `${path}: ${JSON.stringify(body)}`)
    }

  // Of two workers, one could not continue what the other has detached.
  const sshd = await startSshd(t)
  const remote = await world.makeCustom([{ name: 'remote', command: 'echo here' }], {
    server: { ...(await world.newSshServer(sshd, 0)), max_parallel_actions: 0 },
    pipeline: { max_parallel_actions: 0 },
  })
  const remoteIds = await Promise.all(Array.from({ length: 8 }, () => world.run(remote.pipelineId)))
  for (const id of remoteIds) await world.completed(id)
  const logs = await Promise.all(remoteIds.map((id) => world.logOf(id, 'remote')))
  for (const log of logs)
    assert.match(log, /^(This step would not survive a lost connection\. A worker of an older .*\n)?here\n$/)
  assert.deepEqual(await db.selectFrom('detached_steps').selectAll().execute(), [])

  for (const old of [oldApi, oldWorker]) assert.equal(await old.stop(), 0)
  await assert.rejects(world.start('api', {}, program), /corrupted migrations/)
  const last = startCalls({ urls: () => [newApi.url!], hooks: [hook], senders: 1, gapMs: 0 })
  await last.stop()
  await assertRanOnce(db, join(notes, 'steps'), [...calls.actions.values(), ...last.actions.values()])
  for (const { log } of [newApi, newWorker])
    assert.deepEqual(
      log.map((line) => JSON.parse(line)).filter(({ level, msg }) => level >= 50 && !/database/.test(msg)),
      [],
    )
})
