// The database goes away for 30 s while steps run.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { startEmbeddedPostgres } from '#platform/database/embedded/start.ts'
import { later } from '#test/support/later.ts'
import { temporaryHome } from '#test/support/process.ts'
import { openRunWorld } from '#test/support/run-world.ts'
import { until } from '#test/support/until.ts'

const AWAY_MS = 30_000

test('the database goes away for 30 s in the middle of a step: its result and its output are not lost', async (t) => {
  const databaseHome = await temporaryHome(t)
  let server = await startEmbeddedPostgres({ home: databaseHome })
  later(t, () => server.stop())
  const world = await openRunWorld(t, {
    database: server.connection,
    environment: { GANTRY_HEARTBEAT_SECONDS: '10' },
  })
  const { run, completed, endedWith, logOf, makeCustom, makeGate, notes } = world
  const [good, bad, long] = [makeGate('good'), makeGate('bad'), makeGate('long')]
  // None of these may be repeated.
  const pipelines = [
    await makeCustom([
      { name: 'wait', command: `echo before; ${good.command}; echo after` },
      { name: 'next', command: `echo >> '${notes}/next'; echo next` },
    ]),
    await makeCustom([{ name: 'wait', command: `${bad.command}; exit 3` }]),
    await makeCustom([{ name: 'wait', command: `${long.command}; yes | head -c 3000000; echo after` }]),
  ]
  const ids = await Promise.all(pipelines.map(({ pipelineId }) => run(pipelineId)))
  await Promise.all([good, bad, long].map((gate) => gate.reached()))
  await until('its output is there', 30_000, async () => /before/.test(await logOf(ids[0]!, 'wait')))

  await server.stop()
  const leftAt = performance.now()
  // Two end while it is away; the third prints more than is kept in memory.
  for (const gate of [good, bad, long]) await gate.open()
  for (const gate of [good, bad, long]) {
    await until('the step went on', 30_000, async () => (await gate.left()) === 1)
  }
  await pause(AWAY_MS - (performance.now() - leftAt))
  server = await startEmbeddedPostgres({ home: databaseHome })
  const backAt = performance.now()
  await until('it answers again', 30_000, async () => (await world.ask('GET', '/actions')).status === 200)

  const first = await completed(ids[0]!)
  assert.equal(await logOf(first.id, 'wait'), 'before\nafter\n')
  assert.equal(await logOf(first.id, 'next'), 'next\n')
  await endedWith('FAILED', ids[1]!)
  assert.match(await logOf(ids[1]!, 'wait'), /exited with code 3/)
  await completed(ids[2]!)
  assert.equal(await logOf(ids[2]!, 'wait'), `${'y\n'.repeat(1_500_000)}after\n`)
  for (const gate of [good, bad, long]) assert.equal(await gate.entered(), 1)
  const attempts = await world.db.selectFrom('targets').select('attempt').execute()
  assert.deepEqual(
    attempts.map(({ attempt }) => attempt),
    [1, 1, 1],
  )
  t.diagnostic(`all over ${Math.round(performance.now() - backAt)} ms after the database came back`)
  await world.nothingRuns()
})
