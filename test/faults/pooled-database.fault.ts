import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ownDatabase, startCalled, urlAt } from '#test/support/called-gantry.ts'
import { administer, testServer } from '#test/support/database.ts'
import { startPgBouncer } from '#test/support/pgbouncer.ts'
import { startSilentProxy } from '#test/support/silent-proxy.ts'

test('PgBouncer: session pooling works, with right times in New York; transaction pooling is refused', async (t) => {
  const database = await ownDatabase(t)
  await administer(`alter database ${database} set timezone = 'America/New_York'`)
  // The test server has no port, only a socket.
  const proxy = await startSilentProxy(t, testServer())
  const port = await startPgBouncer(t, proxy.port, database)

  const { callHook, get } = await startCalled(t, urlAt(port, database))
  const { status, body } = await callHook('one')
  assert.equal(status, 202)
  const { created_at } = (await get(`/actions/${body.action_id}`)).body
  assert.ok(Math.abs(Date.parse(created_at) - Date.now()) < 60_000, created_at)

  await assert.rejects(startCalled(t, urlAt(port, 'transaction')), (error: Error) => {
    assert.match(error.message, /pools by transaction or statement: .* Set pool_mode = session/)
    return true
  })
  await assert.rejects(
    startCalled(t, urlAt(port, database, `&options=${encodeURIComponent('-c timezone=UTC')}`)),
    /unsupported startup parameter: options\. Remove options and timeouts from DATABASE_URL/,
  )
})
