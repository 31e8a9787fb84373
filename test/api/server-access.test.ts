// Reaching servers: with which keys, on this machine, and what a check finds there.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { chmod, mkdtemp, rm, stat } from 'node:fs/promises'
import { createServer, type Socket } from 'node:net'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { after, suite, type TestContext, test } from 'node:test'
import type { Caller } from '#access/authorization/caller.ts'
import { createConnect } from '#adapters/executors/connect.ts'
import { fingerprint, parseHostKey } from '#adapters/executors/host-key.ts'
import { chooseLocalAccount, type LocalAccount } from '#adapters/executors/local-account.ts'
import { run } from '#adapters/executors/test-commands.ts'
import { runServerCheck } from '#manage/servers/run-check.ts'
import { createSshGuard } from '#platform/addresses/ssh-guard.ts'
import { openTestApp } from '#test/support/harness.ts'
import { later } from '#test/support/later.ts'
import { LOCAL_SETTINGS } from '#test/support/local-settings.ts'
import { fieldsOf, KEY, KEY_FINGERPRINT, openServers } from '#test/support/servers.ts'
import { startSshd } from '#test/support/sshd.ts'
import { createPerson, createTestTree, grantRole } from '#test/support/world.ts'

const { api, db, tree, developer, instanceAdmin, list, ask, makeCredential, keys, ssh, create } =
  await openServers({ after })

const NO_SSH = {
  host: null,
  port: null,
  loginName: null,
  hostKey: null,
  privateKey: null,
  allowLoopback: false,
}
const sshGuard = createSshGuard({ targets: [] })

suite('SSH keys of servers', () => {
  test('a key of another organization is reported like one that does not exist', async () => {
    const outsider = await createTestTree(db)
    for (const credential_id of [outsider.credentialId, 999_999]) {
      const answer = await ask('POST', list, ssh({ credential_id }))
      assert.equal(answer.status, 404)
      assert.deepEqual(fieldsOf(answer), ['credential_id'])
    }
  })

  test('tokens and inactive keys are rejected', async () => {
    assert.deepEqual(fieldsOf(await ask('POST', list, ssh({ credential_id: tree.credentialId }))), [
      'credential_id',
    ])
    const off = await makeCredential({ name: 'off', provider_code: 'ssh', generate: true, active: false })
    assert.deepEqual(fieldsOf(await ask('POST', list, ssh({ credential_id: off.id }))), ['credential_id'])
  })

  test('using a key, or using it for another destination, requires credential:run', async () => {
    const local = await createPerson(db)
    await grantRole(db, local.id, 'viewer', { organizationId: tree.organizationId })
    await grantRole(db, local.id, 'admin', {
      organizationId: tree.organizationId,
      projectId: tree.projectId,
      environmentId: tree.environmentId,
    })
    assert.equal((await ask('POST', list, ssh(), local)).status, 403)
    const { id } = await create()
    for (const change of [
      { host: 'thief.example' },
      { port: 23 },
      { login_name: 'root' },
      { credential_id: keys[1].id },
    ]) {
      assert.equal((await ask('PUT', `/servers/${id}`, change, local)).status, 403, JSON.stringify(change))
    }
    assert.equal(
      (await ask('PUT', `/servers/${id}`, { name: 'renamed', credential_id: keys[0].id }, local)).status,
      200,
    )
    assert.equal(
      (await ask('PUT', `/servers/${id}`, { credential_id: null, host: 'a.example' }, local)).status,
      200,
    )
  })

  test('a credential that a server uses cannot be removed', async () => {
    const key = await makeCredential({ name: 'held', provider_code: 'ssh', generate: true })
    const server = await create({ name: 'holder', credential_id: key.id })
    const rejected = await ask('DELETE', `/credentials/${key.id}`)
    assert.deepEqual(
      [rejected.status, rejected.body.errors],
      [409, { servers: ['1 server (holder) uses it'] }],
    )
    assert.equal((await ask('DELETE', `/servers/${server.id}`)).status, 204)
    assert.equal((await ask('DELETE', `/credentials/${key.id}`)).status, 204)
  })
})

suite('local servers', () => {
  let count = 0
  const here = (more: object = {}) => ({
    name: `here-${++count}`,
    provider_code: 'local',
    root_directory: '/srv',
    ...more,
  })

  test('only instance administrators create and change them', async () => {
    assert.equal((await ask('POST', list, here())).status, 403)
    assert.equal((await ask('POST', list, here(), tree.owner)).status, 403)
    const made = await ask('POST', list, here(), instanceAdmin)
    assert.equal(made.status, 201, made.text)
    assert.deepEqual([made.body.host, made.body.port, made.body.login_name], [null, null, null])
    assert.equal(
      (await ask('PUT', `/servers/${made.body.id}`, { root_directory: '/' }, tree.owner)).status,
      403,
    )
    assert.equal(
      (await ask('PUT', `/servers/${made.body.id}`, { root_directory: '/srv/b' }, instanceAdmin)).status,
      200,
    )
  })

  test('a check inspects this machine', async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'gantry-servers-'))
    later(t, () => rm(folder, { recursive: true, force: true }))
    await chmod(folder, 0o755)
    const made = await ask('POST', list, here({ root_directory: join(folder, 'sites') }), instanceAdmin)
    const { status, body } = await ask('POST', `/servers/${made.body.id}/check`, {}, developer)
    assert.equal(status, 200)
    assert.equal(body.ok, true, body.message)
    assert.ok(
      body.user.length > 0 &&
        (process.getuid!() === 0 ? body.user !== 'root' : body.user === userInfo().username),
    )
    assert.ok(body.free_disk_bytes > 0)
    assert.deepEqual(
      [body.root_directory_writable, body.host_key_fingerprint, body.pinned],
      [true, null, false],
    )
    assert.ok((await stat(join(folder, 'sites'))).isDirectory(), 'made as a run makes it')
  })

  test('a check uses the account of a run, never that of the embedded database', {
    skip: process.getuid!() !== 0 && 'only root chooses an account',
  }, async (t) => {
    const usual = (await chooseLocalAccount(null)) as LocalAccount
    const other = (await chooseLocalAccount(usual.uid)) as LocalAccount
    const beside = await openTestApp(t, { beside: api, databaseUid: usual.uid })
    const made = await ask('POST', list, here({ root_directory: '/tmp' }), instanceAdmin)
    const { body } = await beside.request('POST', `/servers/${made.body.id}/check`, {
      token: developer.token,
      body: {},
    })
    const runs = createConnect({ ...LOCAL_SETTINGS, databaseUid: usual.uid, sshGuard })
    later(t, runs.close)
    const server = { name: 'here', kind: 'local' as const, rootDirectory: '/tmp' }
    const connection = await runs.connect({ ...server, ...NO_SSH })
    assert.ok(connection.kind === 'connected')
    assert.equal((await run(connection.executor, 'id -un')).output, `${other.name}\n`)
    assert.equal(body.user, other.name)
  })
})

suite('checking SSH servers', () => {
  /** The servers of these tests are on this machine. */
  const createHere = (more: object) => create(more, instanceAdmin)
  const check = async (id: number, body: object = {}) => {
    const answer = await ask('POST', `/servers/${id}/check`, body)
    assert.equal(answer.status, 200, answer.text)
    return answer.body
  }
  const at = async (t: TestContext) => {
    const sshd = await startSshd(t, { authorized: keys[0].public_key })
    const account = sshd.accounts[0]!
    const host = {
      host: '127.0.0.1',
      port: sshd.port,
      login_name: account.name,
      root_directory: account.home,
    }
    return { sshd, account, host, shown: fingerprint(parseHostKey(sshd.hostKey)!.blob) }
  }

  test('a check reports what it finds; a host key is pinned only on request, and then enforced', async (t) => {
    const { sshd, account, host, shown } = await at(t)
    const { id } = await createHere(host)
    const first = await check(id)
    assert.equal(first.ok, true, first.message)
    assert.equal(first.user, account.name)
    assert.ok(first.free_disk_bytes > 0)
    assert.equal(first.root_directory_writable, true)
    assert.deepEqual([first.host_key_fingerprint, first.pinned], [shown, false])
    assert.equal((await ask('GET', `/servers/${id}`)).body.host_key, null)

    const pinning = await check(id, { pin_host_key: true })
    assert.deepEqual([pinning.ok, pinning.pinned], [true, true])
    assert.equal((await ask('GET', `/servers/${id}`)).body.host_key, sshd.hostKey)
    assert.equal((await check(id)).ok, true)

    await ask('PUT', `/servers/${id}`, { host_key: KEY })
    const changed = await check(id, { pin_host_key: true })
    assert.equal(changed.ok, false)
    assert.ok(changed.message.includes(KEY_FINGERPRINT) && changed.message.includes(shown), changed.message)
    assert.deepEqual([changed.host_key_fingerprint, changed.pinned], [shown, true])
    assert.equal((await ask('GET', `/servers/${id}`)).body.host_key, KEY)
  })

  test('a fingerprint pins a host like a key does', async (t) => {
    const { host, shown } = await at(t)
    const { id } = await createHere({ ...host, host_key: shown })
    assert.deepEqual([(await check(id)).ok, (await check(id)).pinned], [true, true])
    await ask('PUT', `/servers/${id}`, { host_key: KEY_FINGERPRINT })
    assert.match((await check(id)).message, /is not the known one/)
  })

  test('a root directory that is not writable is reported', async (t) => {
    const { host } = await at(t)
    const { id } = await createHere({ ...host, root_directory: '/proc/nothing/here' })
    const found = await check(id)
    assert.deepEqual([found.ok, found.root_directory_writable], [false, false])
    assert.match(found.message, /cannot write to \/proc\/nothing\/here/)
  })

  test('a rejected key and a missing key are reported', async (t) => {
    const { host, shown } = await at(t)
    const { id } = await createHere({ ...host, credential_id: keys[1].id })
    const rejected = await check(id, { pin_host_key: true })
    assert.match(rejected.message, /does not accept the key for/)
    assert.deepEqual([rejected.ok, rejected.host_key_fingerprint, rejected.pinned], [false, shown, false])
    await ask('PUT', `/servers/${id}`, { credential_id: null })
    assert.match((await check(id)).message, /has no SSH key/)
  })

  test('a host that refuses connections is reported', async () => {
    const probe = createServer().listen(0, '127.0.0.1')
    await once(probe, 'listening')
    const { port } = probe.address() as { port: number }
    probe.close()
    await once(probe, 'close')
    const { id } = await createHere({ host: '127.0.0.1', port })
    const closed = await check(id)
    assert.deepEqual([closed.ok, /refused the connection/.test(closed.message)], [false, true])
    assert.deepEqual(
      [closed.user, closed.free_disk_bytes, closed.root_directory_writable],
      [null, null, null],
    )
  })

  test('a host that accepts the connection and stays silent times out', async (t) => {
    const open = new Set<Socket>()
    const mute = createServer((socket) => open.add(socket.on('error', () => {}))).listen(0, '127.0.0.1')
    await once(mute, 'listening')
    later(t, async () => {
      for (const socket of open) socket.destroy()
      mute.close()
      await once(mute, 'close')
    })
    const { id } = await createHere({ host: '127.0.0.1', port: (mute.address() as { port: number }).port })
    const caller = { grants: [] } as unknown as Caller
    const actor = { userId: null, ipAddress: null, requestId: null }
    const { connect } = createConnect({ ...LOCAL_SETTINGS, databaseUid: null, sshGuard })
    for (const timeouts of [
      { connectMs: 100, probeMs: 100, totalMs: 60_000 },
      { connectMs: 60_000, probeMs: 100, totalMs: 100 },
    ]) {
      const scope = { organization_id: tree.organizationId }
      const outcome = await runServerCheck(
        { db, box: api.box, connect, timeouts },
        { caller, actor, scope, parentId: id, id, body: {} },
      )
      assert.equal(outcome.kind, 'tried')
      const check = outcome.kind === 'tried' ? outcome.check : assert.fail()
      assert.deepEqual([check.ok, /did not answer in time/.test(check.message)], [false, true])
    }
  })
})
