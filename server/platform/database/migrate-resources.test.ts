// What migrations do to hooks and servers that are there already.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Preset } from '#model/hooks/presets/schema.ts'
import { repositoryProblem } from '#model/hooks/repository-host.ts'
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

test('hosts of repositories that presets report on become hosts of their credentials', async (t) => {
  const db = await openOlderDatabase(t)
  await migrate(db, { to: '0038-short-columns' })
  const cases: [repository: string, preset: object, credential: object, expected: string[]][] = [
    ['https://github.com/acme/shop.git', { kind: 'github_status' }, {}, []],
    ['ssh://git@ssh.github.com:443/acme/shop.git', { kind: 'github_status' }, {}, []],
    ['https://Mirror.example:8443/acme/shop', { kind: 'github_status' }, {}, ['mirror.example:8443']],
    ['git@Code.example.com:acme/shop.git', { kind: 'github_deployment' }, {}, ['code.example.com']],
    ['code.example.com:acme/shop.git', { kind: 'github_status' }, {}, ['code.example.com']],
    ['ssh://deploy@git.example:2222/acme/shop', { kind: 'github_status' }, {}, ['git.example']],
    ['ssh://git@[fd00::1]:2222/acme/shop', { kind: 'github_status' }, {}, ['[fd00::1]']],
    ['acme/shop', { kind: 'github_status' }, {}, []],
    ['file:///srv/acme/shop', { kind: 'github_status' }, {}, []],
    ['https://git.example/acme/shop', { kind: 'slack_message', channel: 'x' }, {}, []],
    [
      'https://git.example/acme/shop',
      { kind: 'gitlab_status', project: 'acme/shop' },
      { provider_code: 'gitlab' },
      [],
    ],
    [
      'https://git.example:3000/acme/shop',
      { kind: 'gitea_status' },
      { provider_code: 'gitea', base_url: 'https://git.example:3000' },
      [],
    ],
    [
      'git@git.example:acme/shop',
      { kind: 'gitea_status' },
      { provider_code: 'gitea', base_url: 'https://git.example:3000' },
      [],
    ],
  ]
  const ids: number[] = []
  for (const [repository, preset, credential] of cases) {
    const tree = await createTestTree(db)
    ids.push(tree.credentialId)
    await db.updateTable('applications').set({ repository }).where('id', '=', tree.applicationId).execute()
    if (Object.keys(credential).length > 0)
      await db.updateTable('credentials').set(credential).where('id', '=', tree.credentialId).execute()
    await createHook(db, tree, 'outgoing', { settings: JSON.stringify({ preset, timeout_seconds: 15 }) })
  }
  await migrate(db)
  const rows = await db.selectFrom('credentials').selectAll().execute()
  const byId = new Map(rows.map((row) => [row.id, row]))
  for (const [index, [repository, preset, , expected]] of cases.entries()) {
    const { ssh_hosts: sshHosts, provider_code: provider, base_url: baseUrl } = byId.get(ids[index]!)!
    assert.deepEqual(sshHosts, expected, repository)
    // What was sent before is still sent.
    const source = { repository, provider: { code: provider, baseUrl } }
    const problem = repositoryProblem(preset as Preset, { provider, baseUrl, sshHosts }, source)
    assert.equal(problem !== undefined, repository.startsWith('file:'), repository)
  }
  assert.ok(rows.every(({ token_targets }) => token_targets === 'anywhere'))
})
