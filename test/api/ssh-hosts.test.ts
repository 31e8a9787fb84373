// SSH servers as a way into the machine that Gantry runs on and into what only that machine can reach: played over HTTP,
// by members who may add servers, with sockets that notice every connection.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { after, suite, type TestContext, test } from 'node:test'
import { createApply, shop } from '#manage/apply/test-apply.ts'
import { createSshGuard } from '#platform/addresses/ssh-guard.ts'
import { openTestApp } from '#test/support/harness.ts'
import { later } from '#test/support/later.ts'
import { fieldsOf, openServers } from '#test/support/servers.ts'
import { startSshd } from '#test/support/sshd.ts'

const { api, db, tree, admin, instanceAdmin, list, ask, ssh, create, keys } = await openServers(
  { after },
  { environment: { GANTRY_ALLOW_TARGETS: '127.0.0.0/8' } },
)

const LOOPBACK =
  `127.0.0.1 127.1 2130706433 0x7f000001 0177.0.0.1 localhost LOCALHOST localhost. ::1 ::ffff:127.0.0.1
  ::ffff:7f00:1 64:ff9b::7f00:1 2002:7f00:1::`.split(/\s+/)
const NEVER =
  `169.254.169.254 169.254.170.2 2852039166 0xa9fea9fe ::ffff:169.254.169.254 64:ff9b::a9fe:a9fe fe80::1
  fd00:ec2::254 100.100.100.200 0.0.0.0 ::`.split(/\s+/)

/** A port of this machine that counts who connects. */
async function openCanary(t: TestContext) {
  let connections = 0
  const server = createServer((socket) => {
    connections += 1
    socket.on('error', () => {}).end('SSH-2.0-canary\r\n')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  later(t, () => server.close())
  return { port: (server.address() as AddressInfo).port, connections: () => connections }
}

const grantOf = async (id: number) =>
  (await db.selectFrom('servers').select('allow_loopback').where('id', '=', id).executeTakeFirstOrThrow())
    .allow_loopback

suite('a member who may add servers', () => {
  test('cannot save one on this machine, nor at a link-local or metadata address, in any spelling', async () => {
    const { id } = await create()
    for (const host of [...LOOPBACK, ...NEVER]) {
      for (const answer of [
        await ask('POST', list, ssh({ host })),
        await ask('PUT', `/servers/${id}`, { host }),
      ]) {
        assert.equal(answer.status, 422, `${host}: ${answer.text}`)
        assert.deepEqual(fieldsOf(answer), ['host'], host)
      }
    }
    assert.equal((await ask('GET', `/servers/${id}`)).body.host, 'web.example.com')
  })

  test('cannot do so by applying a document either', async () => {
    const { applied, apply } = await createApply(api)
    const { url_slug } = (await ask('GET', `/organizations/${tree.organizationId}`)).body
    const document = (host: string) =>
      shop(
        url_slug,
        `  live: {type: production, servers: {web: {provider_code: ssh, host: "${host}", login_name: me, root_directory: /srv}}}\n`,
      )
    await applied(document('web.example.com'), {}, admin)
    for (const host of ['127.0.0.1', 'localhost', '169.254.169.254', '::ffff:a9fe:a9fe']) {
      for (const dry_run of [true, false]) {
        const { status, body } = await apply(document(host), { dry_run }, admin)
        assert.equal(status, 422, host)
        assert.deepEqual(Object.keys(body.errors), ['environments.live.servers.web.host'])
      }
    }
  })

  test('can save one in a private network, or with a name that does not resolve yet', async () => {
    for (const host of ['10.1.2.3', '192.168.1.1', '100.64.0.7', 'fd12:3456::1', 'later.invalid'])
      await create({ host })
  })

  test('cannot probe this machine with a key', async (t) => {
    const canary = await openCanary(t)
    const probe = (host: string, as = admin) =>
      ask('POST', `/credentials/${keys[0].id}/check`, { host, port: canary.port, user: 'root' }, as)
    for (const host of ['127.0.0.1', 'localhost', '169.254.169.254', '2130706433']) {
      const { body } = await probe(host)
      assert.equal(body.ok, false)
    }
    assert.equal(canary.connections(), 0)
    await probe('127.0.0.1', instanceAdmin)
    assert.equal(canary.connections(), 1)
  })
})

suite('a server on this machine', () => {
  const here = async (t: TestContext) => {
    const sshd = await startSshd(t, { authorized: keys[0].public_key })
    const { name: login_name, home: root_directory } = sshd.accounts[0]!
    return { host: '127.0.0.1', port: sshd.port, login_name, root_directory }
  }
  const check = async (id: number) => (await ask('POST', `/servers/${id}/check`, {})).body

  test('works once an instance administrator saved it, and members change everything but its destination', async (t) => {
    const { id } = await create(await here(t), instanceAdmin)
    assert.equal(await grantOf(id), true)
    assert.equal((await check(id)).ok, true)
    const canary = await openCanary(t)
    const moved = await ask('PUT', `/servers/${id}`, { port: canary.port })
    assert.deepEqual([moved.status, fieldsOf(moved)], [422, ['port']])
    const renamed = await ask('PUT', `/servers/${id}`, {
      name: 'renamed',
      host: '127.0.0.1',
      login_name: 'me',
    })
    assert.equal(renamed.status, 200, renamed.text)
    assert.equal(await grantOf(id), true)
    assert.equal((await ask('PUT', `/servers/${id}`, { host: '10.0.0.1' })).status, 200)
    assert.equal(await grantOf(id), false)
    const back = await ask('PUT', `/servers/${id}`, { host: '127.0.0.1' })
    assert.deepEqual([back.status, fieldsOf(back)], [422, ['host']])
    assert.equal(canary.connections(), 0)
  })

  test('is not connected to without the grant, and the message says what to do', async (t) => {
    const canary = await openCanary(t)
    for (const host of ['127.0.0.1', 'localhost', '169.254.169.254']) {
      const { id } = await create({ port: canary.port })
      // As a name would that resolved to something else when it was saved.
      await db.updateTable('servers').set({ host }).where('id', '=', id).execute()
      const { ok, message } = await check(id)
      assert.equal(ok, false)
      assert.match(
        message,
        host.startsWith('169') ? /never allowed; change the host/ : /instance administrator/,
      )
      const probed = await ask('POST', `/credentials/${keys[0].id}/check`, { server_id: id })
      assert.equal(probed.body.ok, false)
    }
    assert.equal(canary.connections(), 0)
  })
})

test('the address that was checked is the one connected to, at every connection anew', async (t) => {
  const canary = await openCanary(t)
  const answers: string[][] = []
  const lookups: string[] = []
  const sshGuard = createSshGuard({
    targets: [],
    lookup: async (name) => {
      lookups.push(name)
      return answers.shift() ?? []
    },
  })
  const rebinding = await openTestApp(t, { beside: api, sshGuard })
  const send = (method: string, url: string, body: object, { token } = admin) =>
    rebinding.request(method, url, { token, body })
  answers.push(['10.0.0.1'])
  const made = await send('POST', list, ssh({ host: 'rebind.example', port: canary.port }))
  assert.equal(made.status, 201, made.text)
  const check = () => send('POST', `/servers/${made.body.id}/check`, {})
  for (const address of ['127.0.0.1', '::1', '169.254.169.254']) {
    answers.push([address])
    assert.equal((await check()).body.ok, false)
  }
  assert.equal(canary.connections(), 0)
  assert.equal(lookups.length, 4)
  // With the grant: exactly one lookup, and the connection goes where it says although the name has no address.
  answers.push(['127.0.0.1'])
  const granted = await send('PUT', `/servers/${made.body.id}`, { host: 'rebind.example' }, instanceAdmin)
  assert.equal(granted.status, 200, granted.text)
  answers.push(['127.0.0.1'])
  await check()
  assert.equal(canary.connections(), 1)
  assert.equal(lookups.length, 6)
})

test('GANTRY_SSH_TARGETS restricts the networks of servers, at save and at connect', async (t) => {
  const restricted = await openTestApp(t, {
    beside: api,
    environment: { GANTRY_SSH_TARGETS: '10.1.0.0/16, 198.51.100.7' },
  })
  const save = (host: string) => restricted.request('POST', list, { token: admin.token, body: ssh({ host }) })
  for (const host of ['10.1.2.3', '198.51.100.7', '::ffff:10.1.2.3'])
    assert.equal((await save(host)).status, 201)
  for (const host of ['10.2.0.1', '192.168.1.1', '93.184.216.34', '169.254.169.254', '127.0.0.1']) {
    const answer = await save(host)
    assert.deepEqual([answer.status, fieldsOf(answer)], [422, ['host']], host)
  }
  const { id } = await create({ host: '10.2.0.1' })
  const { token } = admin
  const { body } = await restricted.request('POST', `/servers/${id}/check`, { token, body: {} })
  assert.match(body.message, /10\.2\.0\.1 may not be reached over SSH: it is outside .* GANTRY_SSH_TARGETS/)
  assert.equal(body.ok, false)
})

test('the grant is in the audit log', async () => {
  const { id } = await create({ host: '127.0.0.1' }, instanceAdmin)
  const { body } = await ask('GET', `/organizations/${tree.organizationId}/audit?per_page=1`)
  assert.equal(body[0].subject_id, String(id))
  assert.equal(body[0].after.allow_loopback, true)
})
