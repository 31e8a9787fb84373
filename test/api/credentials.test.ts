import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, suite, type TestContext, test } from 'node:test'
import { serveGit } from '#adapters/repositories/test-git-server.ts'
import { credentialAad } from '#model/inventory/sealed-aad.ts'
import { openTestApp } from '#test/support/harness.ts'
import { later } from '#test/support/later.ts'
import { makeRepository } from '#test/support/repository.ts'
import { makeKey, startSshd } from '#test/support/sshd.ts'
import { createAction, createMember, createTestTree } from '#test/support/world.ts'

const TOKEN = 'ghp_s3cretT0ken'
const api = await openTestApp({ after }, { environment: { GANTRY_ALLOW_TARGETS: '127.0.0.0/8' } })
const { db, box } = api
const tree = await createTestTree(db)
const outsider = await createTestTree(db)
const [admin, developer, viewer] = await Promise.all(
  (['admin', 'developer', 'viewer'] as const).map((role) => createMember(db, tree, role)),
)
const list = `/organizations/${tree.organizationId}/credentials`
const ask = (method: string, url: string, body?: unknown, as = admin!, headers?: Record<string, string>) =>
  api.request(method, url, { token: as.token, body, headers })
let count = 0
const create = async (body: object) => {
  const answer = await ask('POST', list, { name: `Credential ${++count}`, ...body })
  assert.equal(answer.status, 201, answer.text)
  return answer.body
}
const secretOf = async (id: number) => {
  const { secret } = await db
    .selectFrom('credentials')
    .select('secret')
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  return secret && box.open(secret, credentialAad(id))
}

/** A key pair of ssh-keygen's own making. */
async function newKey(t: TestContext, options?: Parameters<typeof makeKey>[1]) {
  const folder = await mkdtemp(join(tmpdir(), 'gantry-key-test-'))
  later(t, () => rm(folder, { recursive: true, force: true }))
  await makeKey(join(folder, 'key'), options)
  const read = (name: string) => readFile(join(folder, name), 'utf8')
  return { privateKey: await read('key'), publicKey: (await read('key.pub')).trim() }
}

suite('making credentials', () => {
  test('a token is stored sealed, and no answer ever shows it', async () => {
    const made = await ask('POST', list, { name: 'GitHub', provider_code: 'github', token: TOKEN })
    assert.equal(made.status, 201, made.text)
    const { body } = made
    assert.equal(body.provider.code, 'github')
    assert.equal(body.provider_auth_type, 'token')
    assert.equal(body.organization.id, tree.organizationId)
    assert.equal(body.created_by_user.id, admin!.id)
    assert.equal(body.last_action, null)
    assert.equal(body.public_key, null)
    assert.equal(await secretOf(body.id), TOKEN)
    const others = [
      made,
      await ask('GET', `/credentials/${body.id}`),
      await ask('GET', list),
      await ask('PUT', `/credentials/${body.id}`, { active: false }),
    ]
    for (const { text } of others) assert.ok(!text.includes(TOKEN))
    assert.deepEqual(others[1]!.body, body)
    assert.equal(others[1]!.headers.etag, made.headers.etag)
  })

  test('the newest action that used a credential is shown to those who may see it', async () => {
    const { id } = await create({ provider_code: 'github', token: TOKEN })
    const actionId = await createAction(db, tree, { credential_id: id })
    const { body } = await ask('GET', `/credentials/${id}`)
    assert.equal(body.last_action.id, actionId)
    assert.equal(body.last_action.targets.length, 2)
  })

  test('a private key is read, and its public half shown', async (t) => {
    for (const type of ['ed25519', 'ecdsa', 'rsa']) {
      const key = await newKey(t, { type })
      const made = await create({
        provider_code: 'ssh',
        private_key: key.privateKey.replaceAll('\n', '\r\n'),
      })
      assert.equal(made.public_key, key.publicKey)
      assert.match(made.public_key_fingerprint, /^SHA256:[\w+/]{43}$/)
      assert.equal(made.provider_type, 'ssh_key')
      assert.equal(made.provider_auth_type, 'key')
      assert.equal(await secretOf(made.id), key.privateKey)
    }
  })

  test('a key can be made here', async () => {
    const one = await create({ provider_code: 'ssh', generate: true })
    const other = await create({ provider_code: 'ssh', generate: true })
    assert.match(one.public_key, /^ssh-ed25519 AAAA/)
    assert.notEqual(one.public_key, other.public_key)
    assert.match((await secretOf(one.id))!, /^-----BEGIN OPENSSH PRIVATE KEY-----/)
  })

  test('keys that could not be used are refused, with the reason', async (t) => {
    const locked = await newKey(t, { passphrase: 'open sesame' })
    const fine = await newKey(t)
    const refused: [string, RegExp][] = [
      [locked.privateKey, /encrypted with a passphrase/],
      [fine.publicKey, /public key/],
      ['PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\n', /PuTTY/],
      ['rubbish', /cannot be read/],
      [fine.privateKey.slice(0, 200), /cannot be read/],
    ]
    for (const [private_key, why] of refused) {
      const { status, body } = await ask('POST', list, { name: 'Key', provider_code: 'ssh', private_key })
      assert.equal(status, 422)
      assert.match(body.errors.private_key[0], why)
    }
  })

  test('a base_url is kept without the slash at its end', async () => {
    const made = await create({
      provider_code: 'gitea',
      base_url: 'https://Git.Example.com/below/',
      token: TOKEN,
    })
    assert.equal(made.base_url, 'https://git.example.com/below')
  })

  test('a credential without a token is for public repositories', async () => {
    const made = await create({ provider_code: 'github' })
    assert.equal(made.provider_auth_type, 'none')
    const given = await ask('PUT', `/credentials/${made.id}`, { token: TOKEN })
    assert.equal(given.body.provider_auth_type, 'token')
    const taken = await ask('PUT', `/credentials/${made.id}`, { token: null })
    assert.equal(taken.body.provider_auth_type, 'none')
    assert.equal(await secretOf(made.id), null)
  })

  test('all faults of a body are told at once', async () => {
    const faults = async (body: object) => {
      const answer = await ask('POST', list, { name: 'X', ...body })
      assert.equal(answer.status, 422, answer.text)
      return Object.keys(answer.body.errors).sort()
    }
    assert.deepEqual(await faults({ provider_code: 'git', token: TOKEN }), ['base_url'])
    assert.deepEqual(await faults({ provider_code: 'gitea', username: 'zoe' }), ['base_url', 'username'])
    assert.deepEqual(await faults({ provider_code: 'ssh' }), ['private_key'])
    assert.deepEqual(
      await faults({ provider_code: 'ssh', token: TOKEN, base_url: 'https://a.example', username: 'zoe' }),
      ['base_url', 'private_key', 'token', 'username'],
    )
    assert.deepEqual(await faults({ provider_code: 'github', generate: true, private_key: 'x' }), [
      'generate',
      'private_key',
    ])
    assert.deepEqual(await faults({ provider_code: 'nothing', token: 'a b', tokn: 1 }), [
      'provider_code',
      'token',
      'tokn',
    ])
    for (const base_url of [
      'ftp://a.example',
      'git.example.com',
      'https://zoe:pw@a.example',
      'https://a.example/?x=1',
      'https://',
    ]) {
      assert.deepEqual(await faults({ provider_code: 'git', base_url }), ['base_url'], base_url)
    }
  })

  test('two credentials of an organization cannot share a name; a removed one gives it back', async () => {
    const body = { name: 'Twice', provider_code: 'github', token: TOKEN }
    const together = await Promise.all([ask('POST', list, body), ask('POST', list, body)])
    assert.deepEqual(together.map(({ status }) => status).sort(), [201, 422])
    const first = together.find(({ status }) => status === 201)!.body
    assert.ok(together.find(({ status }) => status === 422)!.body.errors.name)
    const other = await create({ provider_code: 'github' })
    assert.equal((await ask('PUT', `/credentials/${other.id}`, { name: 'Twice' })).status, 422)
    assert.equal((await ask('DELETE', `/credentials/${first.id}`)).status, 204)
    assert.equal((await ask('PUT', `/credentials/${other.id}`, { name: 'Twice' })).status, 200)
  })
})

suite('changing credentials', () => {
  test('fields that are not given stay', async () => {
    const made = await create({
      provider_code: 'git',
      base_url: 'https://a.example',
      username: 'zoe',
      token: TOKEN,
    })
    const { status, body } = await ask('PUT', `/credentials/${made.id}`, { name: 'Other name' })
    assert.equal(status, 200)
    assert.deepEqual({ ...body, name: made.name, updated_at: made.updated_at }, made)
    assert.equal(await secretOf(made.id), TOKEN)
  })

  test('a token does not follow a base_url to another host: it must be given again', async () => {
    const made = await create({ provider_code: 'gitea', base_url: 'https://a.example', token: TOKEN })
    const moved = { base_url: 'https://thief.example' }
    const refused = await ask('PUT', `/credentials/${made.id}`, moved)
    assert.equal(refused.status, 422)
    assert.deepEqual(Object.keys(refused.body.errors), ['token'])
    const given = await ask('PUT', `/credentials/${made.id}`, { ...moved, token: 'another' })
    assert.equal(given.status, 200)
    assert.equal(await secretOf(made.id), 'another')
  })

  test('the provider stays what it is', async () => {
    const made = await create({ provider_code: 'github', token: TOKEN })
    assert.equal((await ask('PUT', `/credentials/${made.id}`, { provider_code: 'github' })).status, 200)
    const refused = await ask('PUT', `/credentials/${made.id}`, { provider_code: 'gitlab' })
    assert.deepEqual([refused.status, Object.keys(refused.body.errors)], [422, ['provider_code']])
  })

  test('a change on top of somebody else’s is refused when the caller says what they saw', async () => {
    const made = await create({ provider_code: 'github', token: TOKEN })
    const url = `/credentials/${made.id}`
    const { headers } = await ask('GET', url)
    const seen = { 'if-match': headers.etag! }
    assert.equal((await ask('PUT', url, { name: 'First' }, admin, seen)).status, 200)
    assert.equal((await ask('PUT', url, { name: 'Second' }, admin, seen)).status, 412)
    assert.equal((await ask('DELETE', url, undefined, admin, seen)).status, 412)
    assert.equal((await ask('GET', url)).body.name, 'First')
  })

  test('every change is in the audit, without the secret', async () => {
    const made = await create({ provider_code: 'github', token: TOKEN })
    await ask('PUT', `/credentials/${made.id}`, { token: 'ghp_next' })
    await ask('DELETE', `/credentials/${made.id}`)
    const entries = await db
      .selectFrom('audit_entries')
      .selectAll()
      .where('subject_type', '=', 'credential')
      .where('subject_id', '=', String(made.id))
      .orderBy('id')
      .execute()
    assert.deepEqual(
      entries.map(({ verb, user_id }) => [verb, user_id]),
      [
        ['created', admin!.id],
        ['changed', admin!.id],
        ['removed', admin!.id],
      ],
    )
    assert.deepEqual(entries[1]!.after!.secret, { changed: true })
    const told = JSON.stringify(entries)
    assert.ok(!told.includes(TOKEN) && !told.includes('ghp_next'))
  })
})

suite('removing credentials', () => {
  test('one that is in use stays, and the answer names its users', async () => {
    const { status, body } = await ask('DELETE', `/credentials/${tree.credentialId}`)
    assert.equal(status, 409)
    assert.deepEqual(body.errors, { applications: ['1 application (Shop) uses it'] })
    assert.match(body.message, /1 application \(Shop\) uses it/)
  })

  test('a removed one is gone, its secret is erased, and its runs stay', async () => {
    const made = await create({ provider_code: 'github', token: TOKEN })
    const actionId = await createAction(db, tree, { credential_id: made.id })
    assert.equal((await ask('DELETE', `/credentials/${made.id}`)).status, 204)
    for (const method of ['GET', 'PUT', 'DELETE']) {
      assert.equal(
        (await ask(method, `/credentials/${made.id}`, method === 'PUT' ? {} : undefined)).status,
        404,
      )
    }
    assert.equal(await secretOf(made.id), null)
    assert.equal((await ask('GET', `/actions/${actionId}`)).status, 200)
  })
})

suite('listing credentials', () => {
  test('newest first, by pages, and by a part of the name', async () => {
    for (const name of ['Needle one', 'NEEDLE two', 'a needle_three'])
      await create({ name, provider_code: 'github' })
    const { body, headers } = await ask('GET', `${list}?filter[name]=needle&per_page=2`)
    assert.deepEqual(
      body.map(({ name }: { name: string }) => name),
      ['a needle_three', 'NEEDLE two'],
    )
    assert.equal(headers['x-total-count'], '3')
    assert.match(headers.link!, /rel="next"/)
    assert.deepEqual((await ask('GET', `${list}?filter[name]=%25`)).body, [])
  })
})

suite('who may', () => {
  test('viewers and developers see credentials and change nothing', async () => {
    const url = `/credentials/${tree.credentialId}`
    for (const person of [viewer!, developer!]) {
      assert.equal((await ask('GET', list, undefined, person)).status, 200)
      assert.equal((await ask('GET', url, undefined, person)).status, 200)
      assert.equal((await ask('POST', list, { name: 'X', provider_code: 'github' }, person)).status, 403)
      assert.equal((await ask('PUT', url, { name: 'X' }, person)).status, 403)
      assert.equal((await ask('DELETE', url, undefined, person)).status, 403)
      assert.equal((await ask('POST', `${url}/check`, {}, person)).status, 403)
    }
  })

  test('people of another organization find nothing', async () => {
    const url = `/credentials/${tree.credentialId}`
    for (const [method, path, body] of [
      ['GET', list],
      ['POST', list, { name: 'X', provider_code: 'github' }],
      ['GET', url],
      ['PUT', url, {}],
      ['DELETE', url],
      ['POST', `${url}/check`, {}],
    ] as const) {
      assert.equal((await ask(method, path, body, outsider.owner)).status, 404, `${method} ${path}`)
    }
  })
})

type Handler = (request: IncomingMessage, response: ServerResponse) => void

/** A source provider on a loopback port. */
async function serveProvider(t: TestContext, answer: Handler) {
  const seen: { url: string; authorization: string | undefined }[] = []
  const server = createServer((request, response) => {
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
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen }
}

const json = (status: number, body: unknown): Handler => {
  return (_request, response) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

suite('checking tokens', () => {
  const check = async (id: number, body: object = {}) => {
    const answer = await ask('POST', `/credentials/${id}/check`, body)
    assert.equal(answer.status, 200, answer.text)
    assert.ok(!answer.text.includes(TOKEN))
    return answer.body
  }

  test('the API of each provider is asked for the account, in its own way', async (t) => {
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

  test('what does not work is told in words', async (t) => {
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

  test('an answer that tells the token back does not tell it to the caller', async (t) => {
    const { url } = await serveProvider(t, json(200, { login: `zoe ${TOKEN}` }))
    const { id } = await create({ provider_code: 'gitea', base_url: url, token: TOKEN })
    assert.equal((await check(id)).details.account, 'zoe ********')
  })

  test('a redirect is not followed, so that the token stays where it belongs', async (t) => {
    const thief = await serveProvider(t, json(200, { login: 'thief' }))
    const { url } = await serveProvider(t, (_request, response) =>
      response.writeHead(302, { location: `${thief.url}/api/v1/user` }).end(),
    )
    const { id } = await create({ provider_code: 'gitea', base_url: url, token: TOKEN })
    assert.equal((await check(id)).ok, false)
    assert.deepEqual(thief.seen, [])
  })

  test('an answer without end is cut off', async (t) => {
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

  test('hosts that Gantry may not call for anybody are not called', async () => {
    const { id } = await create({ provider_code: 'gitea', base_url: 'http://169.254.169.254', token: TOKEN })
    const { status, body } = await ask('POST', `/credentials/${id}/check`)
    assert.deepEqual([status, body.ok, /metadata/.test(body.message)], [200, false, true])
  })

  test('plain git is tried with a repository of its own host', async (t) => {
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
    const without = await ask('POST', `/credentials/${id}/check`, {})
    assert.deepEqual([without.status, Object.keys(without.body.errors)], [422, ['repository']])
    const opened = await check(id, { repository: `${server.url}/shop.git` })
    assert.deepEqual([opened.ok, opened.details], [true, { references: 1 }])
    const absent = await check(id, { repository: `${server.url}/nothing.git` })
    assert.deepEqual([absent.ok, /no repository/.test(absent.message)], [false, true])
    const elsewhere = await ask('POST', `/credentials/${id}/check`, { repository: 'https://github.com/a/b' })
    assert.deepEqual([elsewhere.status, Object.keys(elsewhere.body.errors)], [422, ['repository']])
    await ask('PUT', `/credentials/${id}`, { token: 'wrong' })
    assert.match((await check(id, { repository: `${server.url}/shop.git` })).message, /does not accept/)
  })
})

suite('checking keys', () => {
  test('a key is tried at a host, or at a server of the organization', async (t) => {
    const made = await create({ provider_code: 'ssh', generate: true })
    const other = await create({ provider_code: 'ssh', generate: true })
    const sshd = await startSshd(t, { authorized: made.public_key })
    const place = { host: '127.0.0.1', port: sshd.port, user: sshd.accounts[0]!.name }
    const check = (id: number, body: object, as = admin!) => ask('POST', `/credentials/${id}/check`, body, as)

    const opened = await check(made.id, place)
    assert.equal(opened.body.ok, true, opened.text)
    assert.match(opened.body.details.host_key_fingerprint, /^SHA256:/)
    const closed = await check(other.id, place)
    assert.deepEqual([closed.body.ok, /does not accept the key/.test(closed.body.message)], [false, true])

    const { id: serverId } = await db
      .insertInto('servers')
      .values({
        environment_id: tree.environmentId,
        name: 'Checked',
        provider_code: 'ssh',
        host: '127.0.0.1',
        port: sshd.port,
        login_name: place.user,
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

  test('a wish must name one place', async () => {
    const made = await create({ provider_code: 'ssh', generate: true })
    const token = await create({ provider_code: 'github', token: TOKEN })
    const faults: [number, object, string[]][] = [
      [made.id, {}, ['host', 'user']],
      [made.id, { server_id: 1, host: 'a.example' }, ['host']],
      [made.id, { repository: 'git@a.example:b/c', server_id: 1 }, ['server_id']],
      [made.id, { repository: 'https://github.com/a/b' }, ['repository']],
      [token.id, { server_id: 1, host: 'a.example' }, ['host', 'server_id']],
    ]
    for (const [id, body, fields] of faults) {
      const answer = await ask('POST', `/credentials/${id}/check`, body)
      assert.equal(answer.status, 422, answer.text)
      assert.deepEqual(Object.keys(answer.body.errors).sort(), fields)
    }
  })

  test('a host that somebody names is only called when it is one for everybody', async () => {
    const made = await create({ provider_code: 'ssh', generate: true })
    const { body } = await ask('POST', `/credentials/${made.id}/check`, { host: '10.1.2.3', user: 'root' })
    assert.deepEqual([body.ok, /may not be reached/.test(body.message)], [false, true])
  })
})
