// "Try it now": a health check that need not be saved is tried from a real server, by those who may.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, symlink } from 'node:fs/promises'
import { createServer, type RequestListener } from 'node:http'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, suite, type TestContext, test } from 'node:test'
import { later } from '#test/support/later.ts'
import { fieldsOf, openServers } from '#test/support/servers.ts'
import { startSshd } from '#test/support/sshd.ts'
import { createMember, createPerson, createTestTree } from '#test/support/world.ts'

const world = await openServers({ after })
const { api, db, tree, developer, viewer, admin, instanceAdmin, list, ask, keys, create } = world
const sshd = await startSshd({ after }, { authorized: keys[0].public_key })
const account = sshd.accounts[0]!
/** Only instance administrators add servers on this machine; members may use them afterward. */
const web = await create(
  { host: '127.0.0.1', port: sshd.port, login_name: account.name, root_directory: account.home },
  instanceAdmin,
)

let count = 0
async function makeApplication(more: object = {}) {
  const body = { name: `Shop ${++count}`, repository: 'https://example.com/a.git', ...more }
  const made = await ask('POST', `/environments/${tree.environmentId}/applications`, body)
  assert.equal(made.status, 201, made.text)
  return made.body
}

const post = (body: unknown, as = developer, server = web.id) =>
  ask('POST', `/servers/${server}/try-health-check`, body, as)

async function tryIt(health_check: object, more: object = {}, server = web.id) {
  const { status, body, text } = await post({ health_check, ...more }, developer, server)
  assert.equal(status, 200, text)
  return body
}

async function serve(t: TestContext, listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  later(t, () => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

suite('a try over SSH', () => {
  test('shows status, time and the beginning of the answer, and why it failed', async (t) => {
    const url = await serve(t, (request, response) => {
      response
        .writeHead(Number(request.url!.slice(1)), { connection: 'close' })
        .end('{"state":"\u001b[31mup"}')
    })
    const good = await tryIt({ type: 'http', url: `${url}200` })
    assert.match(good.message, /^HTTP 200 in \d+ ms\.$/)
    assert.deepEqual(
      { ...good, message: '', duration_ms: 0 },
      {
        ...{ healthy: true, reached: true, http_status: 200, exit_code: null },
        ...{ output: '{"state":"up"}', output_truncated: false, message: '', duration_ms: 0 },
      },
    )
    assert.ok(Number.isInteger(good.duration_ms))
    const bad = await tryIt({ type: 'http', url: `${url}503` })
    assert.deepEqual([bad.healthy, bad.reached, bad.http_status], [false, true, 503])
    const other = await tryIt({ type: 'http', url: `${url}200`, expect_body: 'ready' })
    assert.match(other.message, /without the expected text in its body\.$/)
    assert.equal(other.output, '{"state":"up"}')
  })

  test('names a port that is closed, and a host that has no name', async () => {
    const closed = createTcpServer().listen(0, '127.0.0.1')
    await once(closed, 'listening')
    const { port } = closed.address() as AddressInfo
    const open = await tryIt({ type: 'tcp', port })
    assert.deepEqual([open.healthy, open.message], [true, `Port ${port} is open.`])
    closed.close()
    await once(closed, 'close')
    const refused = await tryIt({ type: 'tcp', port })
    assert.deepEqual([refused.healthy, refused.message], [false, `Cannot connect to port ${port}.`])
    const nameless = await tryIt({ type: 'http', url: 'http://no-such-name.invalid/' })
    assert.deepEqual([nameless.http_status, nameless.output], [null, null])
    assert.match(nameless.message, /cannot be resolved on this server\.$/)
  })

  test('a slow answer ends after the timeout of a try, whatever else the check allows', async (t) => {
    const url = await serve(t, () => {})
    const slow = await tryIt({ type: 'http', url, timeout_seconds: 1, within_seconds: 900 })
    assert.deepEqual([slow.healthy, slow.message], [false, 'No answer within 1 s.'])
  })

  test('of a huge answer only the beginning is kept', async (t) => {
    const chunk = Buffer.alloc(64 * 1024, 'x')
    const url = await serve(t, (_, response) => {
      const more = () => {
        while (!response.destroyed && response.write(chunk));
      }
      response.on('drain', more)
      more()
    })
    const huge = await tryIt({ type: 'http', url })
    assert.deepEqual([huge.healthy, huge.output.length, huge.output_truncated], [true, 2_000, true])
  })

  test('a command runs in the live release with the variables of the application; hidden ones are masked', async (t) => {
    const { id, name } = await makeApplication()
    const variable = (body: object) => ask('POST', `/applications/${id}/variables`, body)
    assert.equal((await variable({ name: 'REGION', value: 'eu' })).status, 201)
    assert.equal((await variable({ name: 'KEY', value: 'swordfish-9', hidden: true })).status, 201)
    const { folder } = await db
      .selectFrom('applications')
      .select('folder')
      .where('id', '=', id)
      .executeTakeFirstOrThrow()
    const base = join(account.home, folder)
    later(t, () => rm(base, { recursive: true, force: true }))
    const command = {
      type: 'command',
      command: 'echo "$PWD $REGION $KEY $GANTRY_APPLICATION <$GANTRY_ACTION_ID>"; exit 3',
    }
    const unknown = await tryIt(command, { application_id: id })
    assert.deepEqual([unknown.reached, unknown.message.includes('host key')], [false, true])
    const { host, port, login_name, root_directory } = web
    const pinned = await create({ host, port, login_name, root_directory }, instanceAdmin)
    const check = await ask('POST', `/servers/${pinned.id}/check`, { pin_host_key: true }, instanceAdmin)
    assert.equal(check.body.pinned, true, check.text)
    const before = await tryIt(command, { application_id: id }, pinned.id)
    assert.deepEqual([before.healthy, before.exit_code], [false, 1], 'there is no release yet')
    assert.match(before.output, /current/)

    await mkdir(join(base, 'releases', 'one'), { recursive: true, mode: 0o755 })
    await symlink('releases/one', join(base, 'current'))
    const tried = await tryIt(command, { application_id: id }, pinned.id)
    assert.deepEqual([tried.healthy, tried.exit_code], [false, 3])
    assert.equal(tried.message, 'The command exited with code 3.')
    assert.match(tried.output, new RegExp(`/(current|releases/one) eu \\*+ ${name} <>$`))
    assert.ok(!JSON.stringify(tried).includes('swordfish'))
    const endless = { type: 'command', command: 'yes', timeout_seconds: 1 }
    const ended = await tryIt(endless, { application_id: id }, pinned.id)
    assert.deepEqual([ended.exit_code, ended.output.length, ended.output_truncated], [null, 2_000, true])
    assert.match(ended.message, /did not end within 1 s/)
    const url = await serve(t, (_, response) => {
      response.writeHead(302, { location: 'https://elsewhere.example.com/swordfish-9' }).end()
    })
    const redirected = await tryIt({ type: 'http', url }, { application_id: id }, pinned.id)
    assert.equal(redirected.healthy, false)
    assert.ok(!JSON.stringify(redirected).includes('swordfish'), redirected.message)
    const audit = await ask('GET', `/organizations/${tree.organizationId}/audit?per_page=1`)
    const [entry] = audit.body
    assert.deepEqual([entry.verb, entry.after], ['tried', { application_id: id, command: 'yes' }])
  })

  test('a server that cannot be reached is a result', async () => {
    const probe = createTcpServer().listen(0, '127.0.0.1')
    await once(probe, 'listening')
    const { port } = probe.address() as AddressInfo
    probe.close()
    await once(probe, 'close')
    const away = await create({ host: '127.0.0.1', port }, instanceAdmin)
    const { status, body } = await post({ health_check: { type: 'tcp', port: 80 } }, developer, away.id)
    assert.equal(status, 200)
    assert.deepEqual([body.healthy, body.reached, body.duration_ms], [false, false, null])
    assert.match(body.message, /refused the connection/)
  })
})

suite('who may try', () => {
  const TCP = { health_check: { type: 'tcp', port: 22 } }

  test('takes server:run, pipeline:run, and application:add or application:edit', async () => {
    assert.equal((await post(TCP, viewer)).status, 403)
    const outsider = (await createTestTree(db)).owner
    assert.equal((await post(TCP, outsider)).status, 404)
    assert.equal((await post(TCP, developer, 999_999)).status, 404)
    assert.equal((await post(TCP, await createPerson(db, { admin: true }))).status, 404)

    const { id: application_id } = await makeApplication()
    const all = ['server:view', 'server:run', 'pipeline:run', 'application:view', 'application:edit']
    for (const missing of [undefined, 'server:run', 'pipeline:run', 'application:edit']) {
      const role = await ask(
        'POST',
        `/organizations/${tree.organizationId}/roles`,
        {
          name: `All but ${missing}`,
          permissions: all.filter((one) => one !== missing),
        },
        tree.owner,
      )
      assert.equal(role.status, 201, role.text)
      const person = await createPerson(db)
      const grant = { user_id: person.id, role_id: role.body.id, organization_id: tree.organizationId }
      await db.insertInto('grants').values(grant).execute()
      const { status, text } = await post({ ...TCP, application_id }, person)
      assert.equal(status, missing === undefined ? 200 : 403, `${missing}: ${text}`)
      if (missing === undefined) assert.equal((await post(TCP, person)).status, 403, 'application:add')
    }
  })

  test('a personal access token needs the scopes manage and run', async () => {
    const { token: login } = await createMember(db, tree, 'developer')
    for (const [scopes, expected] of [
      [['manage'], 403],
      [['run'], 403],
      [['manage', 'run'], 200],
    ] as const) {
      const body = { name: scopes.join(), scopes }
      const made = await api.request('POST', '/users/personal-access-tokens', { token: login, body })
      assert.equal(made.status, 201, made.text)
      const { status, text } = await post(TCP, { ...developer, token: made.body.token })
      assert.equal(status, expected, `${scopes}: ${text}`)
    }
  })

  test('on the machine of Gantry only instance administrators', async (t) => {
    const root_directory = await mkdtemp(join(tmpdir(), 'gantry-tries-'))
    later(t, () => rm(root_directory, { recursive: true, force: true }))
    const made = await ask(
      'POST',
      list,
      { name: 'here', provider_code: 'local', root_directory },
      instanceAdmin,
    )
    assert.equal(made.status, 201, made.text)
    assert.equal((await post(TCP, admin, made.body.id)).status, 403)
    const { status, body } = await post(
      { health_check: { type: 'tcp', port: sshd.port } },
      instanceAdmin,
      made.body.id,
    )
    assert.deepEqual([status, body.healthy], [200, true], body.message)
  })

  test('applications of other environments are unknown; wrong checks are named', async () => {
    const foreign = await createTestTree(db)
    for (const application_id of [foreign.applicationId, 999_999]) {
      const { status, body } = await post({ ...TCP, application_id })
      assert.deepEqual([status, Object.keys(body.errors)], [404, ['application_id']])
    }
    for (const [body, fields] of [
      [{}, ['health_check']],
      [{ health_check: null }, ['health_check']],
      [{ health_check: {} }, ['health_check.type']],
      [{ health_check: { type: 'http', url: 'file:///etc/passwd' } }, ['health_check.url']],
      [{ health_check: { type: 'tcp', port: 0 } }, ['health_check.port']],
      [{ health_check: { type: 'command', command: 'id' } }, ['application_id']],
      [{ ...TCP, application_id: 0 }, ['application_id']],
      [{ ...TCP, server: 1 }, ['server']],
    ] as const) {
      const answer = await post(body)
      assert.deepEqual([answer.status, fieldsOf(answer)], [422, fields], answer.text)
    }
  })

  test('nothing is stored', async () => {
    const versions = async () => [
      (await ask('GET', `/servers/${web.id}`)).headers.etag,
      (await ask('GET', `/organizations/${tree.organizationId}/audit?per_page=1`)).headers['x-total-count'],
    ]
    const before = await versions()
    await post(TCP)
    assert.deepEqual(await versions(), before)
    assert.equal((await ask('GET', `/servers/${web.id}`)).body.host_key, null)
  })

  test('a third try of the same person at the same time has to wait, and an archived environment has none', async (t) => {
    const waiting: (() => void)[] = []
    const url = await serve(t, (_, response) => {
      waiting.push(() => response.end('up'))
      if (waiting.length === 2) arrived.resolve()
    })
    const arrived = Promise.withResolvers<void>()
    const http = { health_check: { type: 'http', url, timeout_seconds: 60 } }
    const two = [post(http), post(http)]
    await arrived.promise
    const third = await post(http)
    assert.deepEqual([third.status, third.headers['retry-after']], [429, '5'])
    assert.equal((await post(TCP, admin)).status, 200)
    for (const answer of waiting) answer()
    for (const { status } of await Promise.all(two)) assert.equal(status, 200)

    const archived = await ask('POST', `/environments/${tree.environmentId}/archive`, {}, tree.owner)
    assert.equal(archived.status, 200, archived.text)
    assert.equal((await post(TCP)).status, 409)
    assert.equal(
      (await ask('POST', `/environments/${tree.environmentId}/unarchive`, {}, tree.owner)).status,
      200,
    )
  })
})
