// Making, changing, removing and listing servers, and who may.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { fieldsOf, KEY, KEY_FINGERPRINT, openServers } from '#test/support/servers.ts'
import { createAction, createHook, createPerson, createTestTree } from '#test/support/world.ts'

const { db, tree, admin, developer, viewer, instanceAdmin, list, ask, keys, ssh, create } = await openServers(
  { after },
)
const outsider = await createTestTree(db)

suite('creating servers', () => {
  test('the response is the whole record, as it is read later', async () => {
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
      credential_id: keys[0].id,
      host_key: KEY,
      host_key_fingerprint: KEY_FINGERPRINT,
      root_directory: '/srv/www',
      worker_name: null,
      max_parallel_actions: 1,
      linked_resources: [],
    })
    assert.equal(created_by_user.id, admin.id)
    assert.equal(created_at, updated_at)
    const read = await ask('GET', `/servers/${id}`)
    assert.deepEqual(read.body, made.body)
    assert.equal(read.headers.etag, made.headers.etag)
  })

  test('a fingerprint is enough to pin a host', async () => {
    const made = await create({ host_key: KEY_FINGERPRINT })
    assert.equal(made.host_key, KEY_FINGERPRINT)
    assert.equal(made.host_key_fingerprint, KEY_FINGERPRINT)
  })

  test('linked applications are shown to callers who may see them', async () => {
    const { body } = await ask('GET', `/servers/${tree.serverIds[0]}`)
    assert.deepEqual(body.linked_resources, [
      { resource_type: 'application', resource_id: tree.applicationId },
    ])
  })

  test('all errors of a body are reported at once', async () => {
    const errorFields = async (body: object, as = admin) => {
      const answer = await ask('POST', list, body, as)
      assert.equal(answer.status, 422, answer.text)
      return fieldsOf(answer)
    }
    const bare = { name: 'x', root_directory: '/srv' }
    assert.deepEqual(await errorFields({ ...bare, provider_code: 'ssh' }), ['host', 'login_name'])
    assert.deepEqual(await errorFields({ provider_code: 'ssh', hots: 1 }), ['hots', 'name', 'root_directory'])
    const local = ssh({ provider_code: 'local', port: 22, host_key: KEY })
    assert.deepEqual(await errorFields(local, instanceAdmin), [
      'credential_id',
      'host',
      'host_key',
      'login_name',
      'port',
    ])
    assert.deepEqual(await errorFields(ssh({ host_key: 'nothing', root_directory: '/srv/../etc' })), [
      'host_key',
      'root_directory',
    ])
    for (const root_directory of ['srv', '/', '//', '/a\nb']) {
      assert.deepEqual(await errorFields(ssh({ root_directory })), ['root_directory'], root_directory)
    }
    for (const host of ['-oProxyCommand=x', 'a b', 'http://a', 'zoe@a', 'a:b', '']) {
      assert.deepEqual(await errorFields(ssh({ host })), ['host'], host)
    }
    assert.deepEqual(await errorFields(ssh({ port: 65_536, login_name: '-x', max_parallel_actions: -1 })), [
      'login_name',
      'max_parallel_actions',
      'port',
    ])
  })

  test('names are unique in an environment, even under concurrent creation', async () => {
    const body = ssh({ name: 'Twice' })
    const together = await Promise.all([ask('POST', list, body), ask('POST', list, body)])
    assert.deepEqual(together.map(({ status }) => status).sort(), [201, 422])
    const other = await create()
    assert.deepEqual(fieldsOf(await ask('PUT', `/servers/${other.id}`, { name: 'Twice' })), ['name'])
  })
})

suite('changing servers', () => {
  test('omitted fields stay unchanged', async () => {
    const made = await create({ host_key: KEY, max_parallel_actions: 0 })
    const { status, body } = await ask('PUT', `/servers/${made.id}`, { max_parallel_actions: 4 })
    assert.equal(status, 200)
    assert.deepEqual({ ...body, max_parallel_actions: 0, updated_at: made.updated_at }, made)
  })

  test('changing host or port clears the pinned key, unless one is given', async () => {
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

  test('a change with an outdated If-Match is rejected', async () => {
    const { id } = await create()
    const { headers } = await ask('GET', `/servers/${id}`)
    const seen = { 'if-match': headers.etag! }
    assert.equal((await ask('PUT', `/servers/${id}`, { max_parallel_actions: 2 }, admin, seen)).status, 200)
    assert.equal((await ask('PUT', `/servers/${id}`, { max_parallel_actions: 3 }, admin, seen)).status, 412)
    assert.equal((await ask('DELETE', `/servers/${id}`, undefined, admin, seen)).status, 412)
  })

  test('the provider cannot be changed', async () => {
    const { id } = await create()
    assert.deepEqual(
      fieldsOf(await ask('PUT', `/servers/${id}`, { provider_code: 'local' }, instanceAdmin)),
      ['provider_code'],
    )
  })

  test('every change is audited', async () => {
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

suite('removing servers', () => {
  test('a server in use cannot be removed, and the response names its users', async () => {
    const { status, body } = await ask('DELETE', `/servers/${tree.serverIds[0]}`)
    assert.equal(status, 409)
    assert.deepEqual(body.errors, {
      applications: ['1 application: Shop'],
      pipelines: ['1 pipeline: Restart'],
    })
    assert.match(body.message, /Shop.*Restart.*cascade=true/)
  })

  test('cascade removes pipelines and links, keeps history, and requires permission to remove pipelines', async () => {
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
    const rejected = await ask('DELETE', url, undefined, keeper)
    assert.equal(rejected.status, 403)
    assert.match(rejected.body.message, /pipeline:remove and hook:remove/)

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

  test('a server with unfinished runs cannot be removed', async () => {
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

test('servers are listed newest first, paginated, filtered by a part of the name', async () => {
  for (const name of ['Needle one', 'NEEDLE two', 'a needle three']) await create({ name })
  const { body, headers } = await ask('GET', `${list}?filter[name]=needle&per_page=2`)
  assert.deepEqual(
    body.map(({ name }: { name: string }) => name),
    ['a needle three', 'NEEDLE two'],
  )
  assert.equal(headers['x-total-count'], '3')
})

suite('permissions', () => {
  const url = `/servers/${tree.serverIds[1]}`

  test('viewers can read servers but not change them; developers can also check them', async () => {
    for (const person of [viewer, developer]) {
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

  test('members of another organization get 404', async () => {
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
