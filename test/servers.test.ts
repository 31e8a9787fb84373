import assert from 'node:assert/strict'
import { once } from 'node:events'
import { chmod, mkdtemp, rm, stat } from 'node:fs/promises'
import { createServer, type Socket } from 'node:net'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { after, suite, type TestContext, test } from 'node:test'
import type { Caller } from '#access/caller.ts'
import { fingerprint, parseHostKey } from '#executors/host-key.ts'
import { tryServer } from '#servers/try-server.ts'
import { openTestApp } from './harness.ts'
import { later } from './later.ts'
import { startSshd } from './sshd.ts'
import { createAction, createHook, createMember, createPerson, createTestTree, grantRole } from './world.ts'

const KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDEr3GdJ7BJmoLHslZi9WFRedElkyMy92b11/OCTImp/'
const KEY_FINGERPRINT = 'SHA256:v/FpwIq2Cew31IC/F/1IvcDdHtOhxOpY6pho/QKmeTc'

const api = await openTestApp({ after })
const { db } = api
const tree = await createTestTree(db)
const outsider = await createTestTree(db)
const [admin, developer, viewer] = await Promise.all(
  (['admin', 'developer', 'viewer'] as const).map((role) => createMember(db, tree, role)),
)
const instanceAdmin = await createPerson(db, { admin: true })
await grantRole(db, instanceAdmin.id, 'admin', { organizationId: tree.organizationId })

const list = `/environments/${tree.environmentId}/servers`
const ask = (method: string, url: string, body?: unknown, as = admin!, headers?: Record<string, string>) =>
  api.request(method, url, { token: as.token, body, headers })
const keys = await Promise.all(
  ['one', 'two'].map((name) => makeCredential({ name, provider_code: 'ssh', generate: true })),
)

async function makeCredential(body: object): Promise<{ id: number; public_key: string }> {
  const made = await ask('POST', `/organizations/${tree.organizationId}/credentials`, body)
  assert.equal(made.status, 201, made.text)
  return made.body
}

let count = 0
const ssh = (more: object = {}) => ({
  name: `server-${++count}`,
  provider_code: 'ssh',
  host: 'web.example.com',
  login_name: 'deploy',
  credential_id: keys[0]!.id,
  root_directory: '/srv',
  ...more,
})
const create = async (more: object = {}, as = admin!) => {
  const made = await ask('POST', list, ssh(more), as)
  assert.equal(made.status, 201, made.text)
  return made.body
}
const fieldsOf = ({ body }: { body: { errors: object } }) => Object.keys(body.errors).sort()

suite('making servers', () => {
  test('the answer is the whole record, as it is read later', async () => {
    const made = await ask(
      'POST',
      list,
      ssh({ name: 'web', host_key: `${KEY} root@web`, root_directory: '/srv//www/' }),
    )
    assert.equal(made.status, 201, made.text)
    const { id, created_by_user, created_at, updated_at, ...rest } = made.body
    assert.deepEqual(rest, {
      name: 'web',
      environment_id: tree.environmentId,
      project_id: tree.projectId,
      provider_type: 'server',
      provider_code: 'ssh',
      provider_name: 'ssh',
      provider_name_human_readable: 'SSH',
      host: 'web.example.com',
      port: 22,
      login_name: 'deploy',
      credential_id: keys[0]!.id,
      host_key: KEY,
      host_key_fingerprint: KEY_FINGERPRINT,
      root_directory: '/srv/www',
      max_parallel_actions: 1,
      linked_resources: [],
    })
    assert.equal(created_by_user.id, admin!.id)
    assert.equal(created_at, updated_at)
    const read = await ask('GET', `/servers/${id}`)
    assert.deepEqual(read.body, made.body)
    assert.equal(read.headers.etag, made.headers.etag)
  })

  test('a host may be known by its fingerprint alone', async () => {
    const made = await create({ host_key: KEY_FINGERPRINT })
    assert.equal(made.host_key, KEY_FINGERPRINT)
    assert.equal(made.host_key_fingerprint, KEY_FINGERPRINT)
  })

  test('applications that are deployed there are shown to those who may see them', async () => {
    const { body } = await ask('GET', `/servers/${tree.serverIds[0]}`)
    assert.deepEqual(body.linked_resources, [
      { resource_type: 'application', resource_id: tree.applicationId },
    ])
  })

  test('all faults of a body are told at once', async () => {
    const faults = async (body: object, as = admin!) => {
      const answer = await ask('POST', list, body, as)
      assert.equal(answer.status, 422, answer.text)
      return fieldsOf(answer)
    }
    const bare = { name: 'x', root_directory: '/srv' }
    assert.deepEqual(await faults({ ...bare, provider_code: 'ssh' }), ['host', 'login_name'])
    assert.deepEqual(await faults({ provider_code: 'ssh', hots: 1 }), ['hots', 'name', 'root_directory'])
    const local = ssh({ provider_code: 'local', port: 22, host_key: KEY })
    assert.deepEqual(await faults(local, instanceAdmin), [
      'credential_id',
      'host',
      'host_key',
      'login_name',
      'port',
    ])
    assert.deepEqual(await faults(ssh({ host_key: 'nothing', root_directory: '/srv/../etc' })), [
      'host_key',
      'root_directory',
    ])
    for (const root_directory of ['srv', '/', '//', '/a\nb']) {
      assert.deepEqual(await faults(ssh({ root_directory })), ['root_directory'], root_directory)
    }
    for (const host of ['-oProxyCommand=x', 'a b', 'http://a', 'zoe@a', 'a:b', '']) {
      assert.deepEqual(await faults(ssh({ host })), ['host'], host)
    }
    assert.deepEqual(await faults(ssh({ port: 65_536, login_name: '-x', max_parallel_actions: -1 })), [
      'login_name',
      'max_parallel_actions',
      'port',
    ])
  })

  test('two servers of an environment cannot share a name, even when made together', async () => {
    const body = ssh({ name: 'Twice' })
    const together = await Promise.all([ask('POST', list, body), ask('POST', list, body)])
    assert.deepEqual(together.map(({ status }) => status).sort(), [201, 422])
    const other = await create()
    assert.deepEqual(fieldsOf(await ask('PUT', `/servers/${other.id}`, { name: 'Twice' })), ['name'])
  })
})

suite('keys of servers', () => {
  test('a key of another organization, and one that is not there, are unknown', async () => {
    for (const credential_id of [outsider.credentialId, 999_999]) {
      const answer = await ask('POST', list, ssh({ credential_id }))
      assert.equal(answer.status, 404)
      assert.deepEqual(fieldsOf(answer), ['credential_id'])
    }
  })

  test('a token is no key, and one that is switched off is none either', async () => {
    assert.deepEqual(fieldsOf(await ask('POST', list, ssh({ credential_id: tree.credentialId }))), [
      'credential_id',
    ])
    const off = await makeCredential({ name: 'off', provider_code: 'ssh', generate: true, active: false })
    assert.deepEqual(fieldsOf(await ask('POST', list, ssh({ credential_id: off.id }))), ['credential_id'])
  })

  test('to use a key, or to use it in another place, takes the right to use it', async () => {
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
      { credential_id: keys[1]!.id },
    ]) {
      assert.equal((await ask('PUT', `/servers/${id}`, change, local)).status, 403, JSON.stringify(change))
    }
    assert.equal(
      (await ask('PUT', `/servers/${id}`, { name: 'renamed', credential_id: keys[0]!.id }, local)).status,
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
    const refused = await ask('DELETE', `/credentials/${key.id}`)
    assert.deepEqual([refused.status, refused.body.errors], [409, { servers: ['1 server (holder) uses it'] }])
    assert.equal((await ask('DELETE', `/servers/${server.id}`)).status, 204)
    assert.equal((await ask('DELETE', `/credentials/${key.id}`)).status, 204)
  })
})

suite('changing servers', () => {
  test('fields that are not given stay', async () => {
    const made = await create({ host_key: KEY, max_parallel_actions: 0 })
    const { status, body } = await ask('PUT', `/servers/${made.id}`, { max_parallel_actions: 4 })
    assert.equal(status, 200)
    assert.deepEqual({ ...body, max_parallel_actions: 0, updated_at: made.updated_at }, made)
  })

  test('a server that moves loses its pinned key, unless one is given', async () => {
    const made = await create({ host_key: KEY })
    const url = `/servers/${made.id}`
    assert.equal((await ask('PUT', url, { host: made.host, port: 22 })).body.host_key, KEY)
    assert.equal((await ask('PUT', url, { port: 2222 })).body.host_key, null)
    assert.equal((await ask('PUT', url, { host_key: KEY })).body.host_key, KEY)
    assert.equal(
      (await ask('PUT', url, { host: 'b.example', host_key: KEY_FINGERPRINT })).body.host_key,
      KEY_FINGERPRINT,
    )
    assert.equal((await ask('PUT', url, { host_key: null })).body.host_key, null)
  })

  test('a change on top of somebody else’s is refused when the caller says what they saw', async () => {
    const { id } = await create()
    const { headers } = await ask('GET', `/servers/${id}`)
    const seen = { 'if-match': headers.etag! }
    assert.equal((await ask('PUT', `/servers/${id}`, { max_parallel_actions: 2 }, admin, seen)).status, 200)
    assert.equal((await ask('PUT', `/servers/${id}`, { max_parallel_actions: 3 }, admin, seen)).status, 412)
    assert.equal((await ask('DELETE', `/servers/${id}`, undefined, admin, seen)).status, 412)
  })

  test('a server stays of its kind', async () => {
    const { id } = await create()
    assert.deepEqual(
      fieldsOf(await ask('PUT', `/servers/${id}`, { provider_code: 'local' }, instanceAdmin)),
      ['provider_code'],
    )
  })

  test('every change is in the audit', async () => {
    const { id } = await create()
    await ask('PUT', `/servers/${id}`, { host: 'b.example' })
    await ask('DELETE', `/servers/${id}`)
    const entries = await db
      .selectFrom('audit_entries')
      .selectAll()
      .where('subject_type', '=', 'server')
      .where('subject_id', '=', String(id))
      .orderBy('id')
      .execute()
    assert.deepEqual(
      entries.map(({ verb, before, after }) => [verb, before?.host, after?.host]),
      [
        ['created', undefined, 'web.example.com'],
        ['changed', 'web.example.com', 'b.example'],
        ['removed', 'b.example', undefined],
      ],
    )
  })
})

suite('local servers', () => {
  const here = (more: object = {}) => ({
    name: `here-${++count}`,
    provider_code: 'local',
    root_directory: '/srv',
    ...more,
  })

  test('only administrators of the installation make and change them', async () => {
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

  test('a check looks around on this machine', async (t) => {
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
})

suite('removing servers', () => {
  test('one that is used stays, and the answer names its users', async () => {
    const { status, body } = await ask('DELETE', `/servers/${tree.serverIds[0]}`)
    assert.equal(status, 409)
    assert.deepEqual(body.errors, {
      applications: ['1 application: Shop'],
      pipelines: ['1 pipeline: Restart'],
    })
    assert.match(body.message, /Shop.*Restart.*cascade=true/)
  })

  test('with cascade its pipelines and links go, its history stays; not without the right to remove pipelines', async () => {
    const own = await createTestTree(db)
    const [serverId, otherId] = own.serverIds as [number, number]
    const url = `/servers/${serverId}?cascade=true`
    const hookId = await createHook(db, { ...own, pipelineId: own.serverPipelineId }, 'incoming', {
      action_type: 'restart',
    })
    const actionId = await createAction(db, own)
    const { id: roleId } = await db
      .insertInto('roles')
      .values({
        organization_id: own.organizationId,
        name: 'Servers',
        permissions: ['server:view', 'server:remove'],
      })
      .returning('id')
      .executeTakeFirstOrThrow()
    const keeper = await createPerson(db)
    await db
      .insertInto('grants')
      .values({ user_id: keeper.id, role_id: roleId, organization_id: own.organizationId })
      .execute()
    const refused = await ask('DELETE', url, undefined, keeper)
    assert.equal(refused.status, 403)
    assert.match(refused.body.message, /pipeline:remove and hook:remove/)

    assert.equal((await ask('DELETE', url, undefined, own.owner)).status, 204)
    assert.equal((await ask('GET', `/servers/${serverId}`, undefined, own.owner)).status, 404)
    assert.equal((await ask('GET', `/hooks/incoming/${hookId}`, undefined, own.owner)).status, 404)
    const left = await ask('GET', `/environments/${own.environmentId}/servers`, undefined, own.owner)
    assert.deepEqual(
      left.body.map(({ id }: { id: number }) => id),
      [otherId],
    )
    const action = await ask('GET', `/actions/${actionId}`, undefined, own.owner)
    assert.deepEqual(
      action.body.targets.map(({ resource_id }: { resource_id: number }) => resource_id),
      own.serverIds,
    )
    assert.equal((await ask('POST', `/pipelines/${own.serverPipelineId}/actions`, {}, own.owner)).status, 404)
  })

  test('never while a run on it is not finished', async () => {
    const own = await createTestTree(db)
    const waiting = {
      status: 'pending',
      status_reason_code: 'PENDING',
      started_at: null,
      completed_at: null,
    } as const
    const actionId = await createAction(db, own, waiting, waiting)
    for (const serverId of own.serverIds) {
      const { status, body } = await ask('DELETE', `/servers/${serverId}?cascade=true`, undefined, own.owner)
      assert.equal(status, 409)
      assert.deepEqual(Object.keys(body.errors), ['actions'])
    }
    const now = new Date().toISOString()
    const ended = { status: 'skipped', status_reason_code: 'SKIPPED', completed_at: now } as const
    await db.updateTable('targets').set(ended).where('action_id', '=', actionId).execute()
    await db.updateTable('actions').set(ended).where('id', '=', actionId).execute()
    assert.equal(
      (await ask('DELETE', `/servers/${own.serverIds[0]}?cascade=true`, undefined, own.owner)).status,
      204,
    )
  })
})

test('servers are listed newest first, by pages, and by a part of the name', async () => {
  for (const name of ['Needle one', 'NEEDLE two', 'a needle three']) await create({ name })
  const { body, headers } = await ask('GET', `${list}?filter[name]=needle&per_page=2`)
  assert.deepEqual(
    body.map(({ name }: { name: string }) => name),
    ['a needle three', 'NEEDLE two'],
  )
  assert.equal(headers['x-total-count'], '3')
})

suite('who may', () => {
  const url = `/servers/${tree.serverIds[1]}`

  test('viewers see servers and change nothing; developers may also try them', async () => {
    for (const person of [viewer!, developer!]) {
      assert.equal((await ask('GET', list, undefined, person)).status, 200)
      assert.equal((await ask('GET', url, undefined, person)).status, 200)
      assert.equal((await ask('POST', list, ssh(), person)).status, 403)
      assert.equal((await ask('PUT', url, { name: 'X' }, person)).status, 403)
      assert.equal((await ask('DELETE', url, undefined, person)).status, 403)
    }
    assert.equal((await ask('POST', `${url}/check`, {}, viewer)).status, 403)
    assert.equal((await ask('POST', `${url}/check`, undefined, developer)).status, 200)
    assert.equal((await ask('POST', `${url}/check`, { pin_host_key: true }, developer)).status, 403)
  })

  test('people of another organization find nothing', async () => {
    for (const [method, path, body] of [
      ['GET', list],
      ['POST', list, ssh()],
      ['GET', url],
      ['PUT', url, {}],
      ['DELETE', url],
      ['POST', `${url}/check`, {}],
    ] as const) {
      assert.equal((await ask(method, path, body, outsider.owner)).status, 404, `${method} ${path}`)
    }
  })
})

suite('checking SSH servers', () => {
  const check = async (id: number, body: object = {}) => {
    const answer = await ask('POST', `/servers/${id}/check`, body)
    assert.equal(answer.status, 200, answer.text)
    return answer.body
  }
  const at = async (t: TestContext) => {
    const sshd = await startSshd(t, { authorized: keys[0]!.public_key })
    const account = sshd.accounts[0]!
    const place = {
      host: '127.0.0.1',
      port: sshd.port,
      login_name: account.name,
      root_directory: account.home,
    }
    return { sshd, account, place, shown: fingerprint(parseHostKey(sshd.hostKey)!.blob) }
  }

  test('what is found there is told; the host key is pinned only when asked, and then no other will do', async (t) => {
    const { sshd, account, place, shown } = await at(t)
    const { id } = await create(place)
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

  test('a fingerprint does for a key', async (t) => {
    const { place, shown } = await at(t)
    const { id } = await create({ ...place, host_key: shown })
    assert.deepEqual([(await check(id)).ok, (await check(id)).pinned], [true, true])
    await ask('PUT', `/servers/${id}`, { host_key: KEY_FINGERPRINT })
    assert.match((await check(id)).message, /is not the known one/)
  })

  test('a root directory that cannot be written is told', async (t) => {
    const { place } = await at(t)
    const { id } = await create({ ...place, root_directory: '/proc/nothing/here' })
    const found = await check(id)
    assert.deepEqual([found.ok, found.root_directory_writable], [false, false])
    assert.match(found.message, /cannot write to \/proc\/nothing\/here/)
  })

  test('a key that is not let in, and a server without one, are told', async (t) => {
    const { place, shown } = await at(t)
    const { id } = await create({ ...place, credential_id: keys[1]!.id })
    const refused = await check(id, { pin_host_key: true })
    assert.match(refused.message, /does not accept the key for/)
    assert.deepEqual([refused.ok, refused.host_key_fingerprint, refused.pinned], [false, shown, false])
    await ask('PUT', `/servers/${id}`, { credential_id: null })
    assert.match((await check(id)).message, /has no key to log in with/)
  })

  test('a host that takes no connection is told', async () => {
    const probe = createServer().listen(0, '127.0.0.1')
    await once(probe, 'listening')
    const { port } = probe.address() as { port: number }
    probe.close()
    await once(probe, 'close')
    const { id } = await create({ host: '127.0.0.1', port })
    const closed = await check(id)
    assert.deepEqual([closed.ok, /refused the connection/.test(closed.message)], [false, true])
    assert.deepEqual(
      [closed.user, closed.free_disk_bytes, closed.root_directory_writable],
      [null, null, null],
    )
  })

  test('a host that takes the connection and says nothing is given up', async (t) => {
    const open = new Set<Socket>()
    const mute = createServer((socket) => open.add(socket.on('error', () => {}))).listen(0, '127.0.0.1')
    await once(mute, 'listening')
    later(t, async () => {
      for (const socket of open) socket.destroy()
      mute.close()
      await once(mute, 'close')
    })
    const { id } = await create({ host: '127.0.0.1', port: (mute.address() as { port: number }).port })
    const caller = { grants: [] } as unknown as Caller
    const actor = { userId: null, ipAddress: null, requestId: null }
    for (const patience of [
      { connectMs: 100, lookMs: 100, totalMs: 60_000 },
      { connectMs: 60_000, lookMs: 100, totalMs: 100 },
    ]) {
      const place = { organization_id: tree.organizationId }
      const outcome = await tryServer({ db, box: api.box, patience }, caller, actor, place, id, {})
      assert.equal(outcome.kind, 'tried')
      const check = outcome.kind === 'tried' ? outcome.check : assert.fail()
      assert.deepEqual([check.ok, /did not answer in time/.test(check.message)], [false, true])
    }
  })
})
