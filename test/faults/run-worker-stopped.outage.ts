// A worker that is asked to stop while its steps run, and some of them do not listen.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { openRunWorld } from '#test/support/run-world.ts'
import { until } from '#test/support/until.ts'

const world = await openRunWorld({ after }, { roles: ['api'] })
const { run, show, endedWith, completed, logOf, makeCustom, makeGate } = world
const MAX_MS = 60_000

test('a stop completes in time although steps ignore it: one fails, one continues elsewhere', async () => {
  const worker = await world.start('worker')
  const deaf = 'trap "" TERM; echo deaf; while :; do sleep 0.1; done'
  const gate = makeGate('again')
  const [given, repeated] = [
    await makeCustom([{ name: 'deaf', command: deaf }]),
    await makeCustom([{ name: 'again', command: `trap "" TERM; ${gate.command}`, idempotent: true }]),
  ]
  const ids = { given: await run(given.pipelineId), repeated: await run(repeated.pipelineId) }
  await gate.reached()
  await until('both run', MAX_MS, async () => /deaf/.test(await logOf(ids.given, 'deaf')))

  const askedAt = performance.now()
  assert.equal(await worker.stop(), 0)
  const seconds = (performance.now() - askedAt) / 1_000
  assert.ok(seconds < 15, `it took ${seconds} s`)
  await endedWith('FAILED_WORKER_LOST', ids.given)
  assert.equal((await show(ids.repeated)).status, 'in-progress')
  await world.nothingRuns()

  gate.open()
  await world.start('worker')
  await completed(ids.repeated)
})
