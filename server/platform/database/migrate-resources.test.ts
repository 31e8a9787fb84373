// What migrations do to hooks and servers that are there already.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createTestDatabase } from '#test/support/database.ts'
import { createHook, createTestTree } from '#test/support/world.ts'
import { openDatabase } from './connect.ts'
import { migrate } from './migrate.ts'

async function openOlderDatabase(t: TestContext) {
  const { settings, drop } = await createTestDatabase({ empty: true })
  t.after(drop)
  const { db, close } = openDatabase(settings, { onIdleError: () => {} })
  t.after(close)
  await migrate(db, { to: '0008-audit-of-accounts' })
  return db
}

test('servers that are on this machine may stay there', async (t) => {
  const db = await openOlderDatabase(t)
  const tree = await createTestTree(db)
  const here = ['127.0.0.1', '127.8.8.8', 'localhost', '::1', '::ffff:127.0.0.1', '2130706433', '127.1']
  const away = ['10.0.0.1', '169.254.169.254', 'web.example.com', 'fd00::1']
  const made = { environment_id: tree.environmentId, created_by: tree.owner.id, root_directory: '/srv' }
  for (const host of [...here, ...away]) {
    const server = { name: host, provider_code: 'ssh' as const, host, port: 22, login_name: 'me' }
    await db
      .insertInto('servers')
      .values({ ...server, ...made })
      .execute()
  }
  await migrate(db)
  const granted = await db.selectFrom('servers').select('host').where('allow_loopback', '=', true).execute()
  assert.deepEqual(granted.map(({ host }) => host).sort(), here.toSorted())
})

test('hooks keep their settings, to the last digit', async (t) => {
  const db = await openOlderDatabase(t)
  const stored = '{"request_body": {"id": 12345678901234567890, "state": "{{ action.status }}"}}'
  const id = await createHook(db, await createTestTree(db), 'outgoing', { settings: stored })
  await migrate(db)
  const hook = await db.selectFrom('hooks').select('settings').where('id', '=', id).executeTakeFirstOrThrow()
  assert.equal(JSON.stringify(hook.settings), stored.replaceAll(/(?<=[:,]) /g, ''))
})
