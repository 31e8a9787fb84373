import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gantryProcess, preparedHome, query, start } from '#platform/database/embedded/fixtures.ts'
import { startEmbeddedPostgres } from '#platform/database/embedded/start.ts'

test('a home in use by another Gantry is rejected with its process id, and that one is not affected', async (t) => {
  const home = await preparedHome(t)
  const other = await gantryProcess(t, home)
  await assert.rejects(startEmbeddedPostgres({ home }), {
    message: `another Gantry is running with this GANTRY_HOME (process ${other.child.pid})`,
  })
  assert.equal((await query(other.connection, 'select 1')).length, 1)
})

test('a second start within one process is rejected, and so is a third', async (t) => {
  const home = await preparedHome(t)
  await start(t, { home })
  await assert.rejects(startEmbeddedPostgres({ home }), /another Gantry is running/)
  await assert.rejects(startEmbeddedPostgres({ home }), /another Gantry is running/)
})
