import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isRunning, postmasterOf, preparedHome, query, start } from '#platform/database/embedded/fixtures.ts'

test('stop ends the server, and the next start has everything committed', async (t) => {
  const home = await preparedHome(t)
  const first = await start(t, { home })
  await query(first.connection, 'create table survivors as select 42 as answer')
  const pid = await postmasterOf(home)
  await Promise.all([first.stop(), first.stop()])
  assert.equal(isRunning(pid), false)

  const began = performance.now()
  const second = await start(t, { home })
  assert.ok(performance.now() - began < 1_000, 'a later start is fast')
  assert.deepEqual(await query(second.connection, 'select * from survivors'), [{ answer: 42 }])
})
