// Whether a credential works: a token at the API of its provider, a key on a host.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname } from 'node:path'
import { after, suite, type TestContext, test } from 'node:test'
import { serveGit } from '#adapters/repositories/test-git-server.ts'
import { openTestApp } from '#test/support/harness.ts'
import { later } from '#test/support/later.ts'
import { makeRepository } from '#test/support/repository.ts'
import { startSshd } from '#test/support/sshd.ts'
import { createMember, createPerson, createTestTree, grantRole } from '#test/support/world.ts'

const TOKEN = 'ghp_s3cretT0ken'
const api = await openTestApp({ after }, { environment: { GANTRY_ALLOW_TARGETS: '127.0.0.0/8' } })
const { db } = api
const tree = await createTestTree(db)
const outsider = await createTestTree(db)
const admin = await createMember(db, tree, 'admin')
const instanceAdmin = await createPerson(db, { admin: true })
await grantRole(db, instanceAdmin.id, 'admin', { organizationId: tree.organizationId })
const send = (method: string, url: string, body?: unknown, as = admin) =>
  api.request(method, url, { token: as.token, body })
const list = `/organizations/${tree.organizationId}/credentials`
let count = 0
const create = async (body: object) => {
  const answer = await send('POST', list, { name: `Credential ${++count}`, ...body })
  assert.equal(answer.status, 201, answer.text)
  return answer.body
}

type Handler = (request: IncomingMessage, response: ServerResponse) => void

/** A source provider on a loopback port. */
async function serveProvider(t: TestContext, answer: Handler) {
  const seen: { url: string; authorization: string | undefined }[] = []
  const agents: (string | undefined)[] = []
  const server = createServer((request, response) => {
    agents.push(request.headers['user-agent'])
    seen.push({ url: request.url!, authorization: request.headers.authorization })
    answer(request, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  later(t, async () => {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen, agents }
}

const json = (status: number, body: unknown): Handler => {
  return (_request, response) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

suite('checking tokens', () => {
  const check = async (id: number, body: object = {}) => {
    const answer = await send('POST', `/credentials/${id}/check`, body)
    assert.equal(answer.status, 200, answer.text)
    assert.ok(!answer.text.includes(TOKEN))
    return answer.body
  }

  test('the API of each provider returns the account', async (t) => {
    const { url, seen } = await serveProvider(t, json(200, { login: 'zoe' }))
    const ways: [string, object, string, string][] = [
      ['github', {}, '/api/v3/user', `Bearer ${TOKEN}`],
      ['gitlab', {}, '/api/v4/user', `Bearer ${TOKEN}`],
      ['gitea', {}, '/api/v1/user', `token ${TOKEN}`],
      ['bitbucket', {}, '/2.0/user', `Bearer ${TOKEN}`],
      ['bitbucket', { username: 'zoe' }, '/2.0/user', `Basic ${btoa(`zoe:${TOKEN}`)}`],
    ]
    for (const [provider_code, more, path, authorization] of ways) {
      const { id } = await create({ provider_code, base_url: url, token: TOKEN, ...more })
      const found = await check(id)
      assert.equal(found.ok, true, found.message)
      assert.match(found.message, /belongs to zoe/)
      assert.deepEqual(found.details, { status: 200, account: 'zoe' })
      assert.deepEqual(seen.at(-1), { url: path, authorization })
    }
  })

  test('a bot of a chat service is named, and a token that the service does not accept is reported', async (t) => {
    const ways: [string, object, string, string, RegExp][] = [
      ['slack', { ok: true, user: 'gantry', team: 'Acme' }, '/api/auth.test', 'Bearer', /to gantry in Acme/],
      [
        'slack',
        { ok: false, error: 'invalid_auth' },
        '/api/auth.test',
        'Bearer',
        /accept.*: invalid_auth\.$/,
      ],
      ['discord', { username: 'gantry' }, '/api/v10/users/@me', 'Bot', /belongs to gantry/],
    ]
    for (const [provider_code, answer, path, scheme, message] of ways) {
      const { url, seen, agents } = await serveProvider(t, json(200, answer))
      const { id, provider_type } = await create({ provider_code, base_url: url, token: TOKEN })
      assert.equal(provider_type, 'chat')
      const found = await check(id)
      assert.match(found.message, message)
      assert.equal(found.ok, !('error' in answer))
      assert.deepEqual(seen, [{ url: path, authorization: `${scheme} ${TOKEN}` }])
      if (provider_code === 'discord') assert.match(agents[0]!, /^DiscordBot \(https?:\S+, \d+\.\d+\.\d+\)$/)
    }
    const tokenless = await send('POST', list, { name: 'Chat', provider_code: 'slack' })
    assert.deepEqual(tokenless.body.errors, { token: ['is required for slack'] })
  })

  test('failures are explained', async (t) => {
    const answers: [Handler, RegExp][] = [
      [json(401, {}), /does not accept the token/],
      [json(403, {}), /specify a repository/],
      [json(503, {}), /unavailable right now/],
      [json(404, {}), /check base_url/],
      [json(200, ['not an account']), /check base_url/],
      [(_request, response) => response.end('<html>'), /check base_url/],
      [(request) => request.socket.destroy(), /closed the connection/],
    ]
    for (const [answer, message] of answers) {
      const { url } = await serveProvider(t, answer)
      const { id } = await create({ provider_code: 'gitea', base_url: url, token: TOKEN })
      const found = await check(id)
      assert.equal(found.ok, false)
      assert.match(found.message, message)
    }
  })

  test('a token echoed by the provider is not passed on to the caller', async (t) => {
    const { url } = await serveProvider(t, json(200, { login: `zoe ${TOKEN}` }))
    const { id } = await create({ provider_code: 'gitea', base_url: url, token: TOKEN })
    assert.equal((await check(id)).details.account, 'zoe ********')
    const basic = Buffer.from(`zoe:${TOKEN}`).toString('base64')
    for (const login of [
      `${'x'.repeat(90)}${TOKEN}`,
      TOKEN.toUpperCase(),
      encodeURIComponent(TOKEN),
      basic,
    ]) {
      const other = await serveProvider(t, json(200, { login }))
      const again = await create({ provider_code: 'gitea', base_url: other.url, token: TOKEN })
      const { message, details } = await check(again.id)
      assert.match(message, /\*{8}/, login)
      assert.doesNotMatch(`${message}${details.account}`, /ghp_|s3cret|czNjcmV0/i)
    }
  })

  test('redirects are not followed, so that the token does not leak', async (t) => {
    const thief = await serveProvider(t, json(200, { login: 'thief' }))
    const { url } = await serveProvider(t, (_request, response) =>
      response.writeHead(302, { location: `${thief.url}/api/v1/user` }).end(),
    )
    const { id } = await create({ provider_code: 'gitea', base_url: url, token: TOKEN })
    assert.equal((await check(id)).ok, false)
    assert.deepEqual(thief.seen, [])
  })

  test('an endless response is cut off', async (t) => {
    const { url } = await serveProvider(t, (_request, response) => {
      const more = () => {
        while (response.write('x'.repeat(65_536)));
      }
      response.on('drain', more)
      more()
    })
    const { id } = await create({ provider_code: 'gitea', base_url: url, token: TOKEN })
    assert.equal((await check(id)).ok, false)
  })

  test('blocked addresses are not called', async () => {
    const { id } = await create({ provider_code: 'gitea', base_url: 'http://169.254.169.254', token: TOKEN })
    const { status, body } = await send('POST', `/credentials/${id}/check`)
    assert.deepEqual([status, body.ok, /metadata/.test(body.message)], [200, false, true])
  })

  test('a plain git token is checked with a repository on its host', async (t) => {
    const repository = await makeRepository(t, { files: { 'a.txt': 'a' } })
    const server = await serveGit(t, {
      folder: dirname(repository.folder),
      password: { username: 'zoe', secret: TOKEN },
    })
    const { id } = await create({
      provider_code: 'git',
      base_url: server.url,
      username: 'zoe',
      token: TOKEN,
    })
    const without = await send('POST', `/credentials/${id}/check`, {})
    assert.deepEqual([without.status, Object.keys(without.body.errors)], [422, ['repository']])
    const opened = await check(id, { repository: `${server.url}/shop.git` })
    assert.deepEqual([opened.ok, opened.details], [true, { references: 1 }])
    const absent = await check(id, { repository: `${server.url}/nothing.git` })
    assert.deepEqual([absent.ok, /no repository/.test(absent.message)], [false, true])
    const elsewhere = await send('POST', `/credentials/${id}/check`, { repository: 'https://github.com/a/b' })
    assert.deepEqual([elsewhere.status, Object.keys(elsewhere.body.errors)], [422, ['repository']])
    await send('PUT', `/credentials/${id}`, { token: 'wrong' })
    assert.match((await check(id, { repository: `${server.url}/shop.git` })).message, /does not accept/)
  })
})

suite('checking keys', () => {
  test('a key is checked against a host, or against a server of the organization', async (t) => {
    const made = await create({ provider_code: 'ssh', generate: true })
    const other = await create({ provider_code: 'ssh', generate: true })
    const sshd = await startSshd(t, { authorized: made.public_key })
    const destination = { host: '127.0.0.1', port: sshd.port, user: sshd.accounts[0]!.name }
    const check = (id: number, body: object, as = admin) => send('POST', `/credentials/${id}/check`, body, as)

    const opened = await check(made.id, destination, instanceAdmin)
    assert.equal(opened.body.ok, true, opened.text)
    assert.match(opened.body.details.host_key_fingerprint, /^SHA256:/)
    const closed = await check(other.id, destination, instanceAdmin)
    assert.deepEqual([closed.body.ok, /does not accept the key/.test(closed.body.message)], [false, true])

    const { id: serverId } = await db
      .insertInto('servers')
      .values({
        environment_id: tree.environmentId,
        name: 'Checked',
        provider_code: 'ssh',
        host: '127.0.0.1',
        allow_loopback: true,
        port: sshd.port,
        login_name: destination.user,
        host_key: sshd.hostKey,
        root_directory: '/srv',
        created_by: tree.owner.id,
      })
      .returning('id')
      .executeTakeFirstOrThrow()
    assert.equal((await check(made.id, { server_id: serverId })).body.ok, true)
    const foreign = await check(made.id, { server_id: outsider.serverIds[0] })
    assert.deepEqual([foreign.status, Object.keys(foreign.body.errors)], [404, ['server_id']])
    await sshd.stop()
    const gone = await check(made.id, { server_id: serverId })
    assert.deepEqual([gone.body.ok, /refused the connection/.test(gone.body.message)], [false, true])
  })

  test('a key check takes exactly one destination', async () => {
    const made = await create({ provider_code: 'ssh', generate: true })
    const token = await create({ provider_code: 'github', token: TOKEN })
    const invalid: [number, object, string[]][] = [
      [made.id, {}, ['host', 'user']],
      [made.id, { server_id: 1, host: 'a.example' }, ['host']],
      [made.id, { repository: 'git@a.example:b/c', server_id: 1 }, ['server_id']],
      [made.id, { repository: 'https://github.com/a/b' }, ['repository']],
      [token.id, { server_id: 1, host: 'a.example' }, ['host', 'server_id']],
    ]
    for (const [id, body, fields] of invalid) {
      const answer = await send('POST', `/credentials/${id}/check`, body)
      assert.equal(answer.status, 422, answer.text)
      assert.deepEqual(Object.keys(answer.body.errors).sort(), fields)
    }
  })

  test('a host from the request is called only if its address is allowed', async () => {
    const made = await create({ provider_code: 'ssh', generate: true })
    const { body } = await send('POST', `/credentials/${made.id}/check`, { host: '10.1.2.3', user: 'root' })
    assert.deepEqual([body.ok, /may not be reached/.test(body.message)], [false, true])
  })
})
