import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { createTestDatabase, urlOf } from '#test/support/database.ts'
import { ADMIN_ENVIRONMENT, call, logInAsAdmin, startGantry, temporaryHome } from '#test/support/process.ts'

test('four processes that start together on an empty database create one user, one sample, one schema', async (t) => {
  const { settings, drop } = await createTestDatabase({ empty: true })
  t.after(drop)
  const url = urlOf(settings)
  const home = await temporaryHome(t)
  const roles = ['all', 'api', 'worker', 'api']
  const processes = await Promise.all(
    roles.map((role) =>
      startGantry(t, { GANTRY_HOME: home, DATABASE_URL: url, GANTRY_ROLE: role, ...ADMIN_ENVIRONMENT }),
    ),
  )
  assert.equal(processes.filter((one) => one.output.some((line) => line.startsWith('first start'))).length, 1)

  const client = new pg.Client(settings)
  await client.connect()
  const { rows } = await client.query(`select
    (select count(*)::int from users) as users,
    (select count(*)::int from pipelines) as pipelines,
    (select count(*)::int from schema_migrations) as migrations,
    (select count(distinct name)::int from schema_migrations) as different`)
  await client.end()
  assert.deepEqual([rows[0].users, rows[0].pipelines], [1, 1])
  assert.equal(rows[0].migrations, rows[0].different)

  // Secrets sealed by one process are opened by another.
  const [first, second] = processes.filter((one) => one.url !== undefined)
  const token = await logInAsAdmin(first!)
  const hook = await call(first!, 'POST', '/pipelines/1/hooks/incoming', { token, body: { name: 'Shared' } })
  const read = await call(second!, 'GET', `/hooks/incoming/${hook.body.id}`, { token })
  assert.equal(new URL(read.body.url).pathname, new URL(hook.body.url).pathname)
  for (const one of processes) assert.equal(await one.stop(), 0)
})
