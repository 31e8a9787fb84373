// Where the token of a credential may go: to any allowed address, or to its provider only.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { credentialAad } from '#model/inventory/sealed-aad.ts'
import { IN_PROGRESS, openDeliveries, openReceiver, startTestDelivering } from '#test/support/deliveries.ts'
import { openTestApp } from '#test/support/harness.ts'
import { createMember, createPerson, createTestTree, grantRole, type TestTree } from '#test/support/world.ts'

const world = await openDeliveries({ after })
const { box, db, makeHook, move, request, startAction } = world
const TOKEN = 'ghp_a-token-that-may-not-go-anywhere'
const APPLICATION = '{{ application.source_provider.access_token }}'
const sending = (value: string) => ({ settings: { request_headers: [{ name: 'X-Token', value }] } })

async function openTree(): Promise<TestTree> {
  const tree = await createTestTree(db)
  const secret = box.seal(TOKEN, credentialAad(tree.credentialId))
  await db.updateTable('credentials').set({ secret }).where('id', '=', tree.credentialId).execute()
  return tree
}

const limit = (tree: TestTree, token_targets: string, { token = tree.owner.token, query = '' } = {}) =>
  request('PUT', `/credentials/${tree.credentialId}${query}`, { token, body: { token_targets } })

const save = (tree: TestTree, input: object) =>
  request('POST', `/pipelines/${tree.pipelineId}/hooks/outgoing`, {
    token: tree.owner.token,
    body: { name: 'Notify', ...input },
  })

suite('a credential that is limited to its provider', () => {
  test('is rejected by hooks that send its token elsewhere, in every request of theirs', async () => {
    const tree = await openTree()
    assert.equal(
      (await request('GET', `/credentials/${tree.credentialId}`, { token: tree.owner.token })).body
        .token_targets,
      'anywhere',
    )
    assert.equal(
      (await save(tree, { target_url: 'https://proxy.example/', ...sending(APPLICATION) })).status,
      201,
    )
    assert.equal((await limit(tree, 'provider', { query: '?stop_hooks=true' })).status, 200)
    const refused = await save(tree, { target_url: 'https://proxy.example/', ...sending(APPLICATION) })
    assert.equal(refused.status, 422, refused.text)
    assert.match(
      refused.body.errors.target_url[0],
      /https:\/\/proxy\.example.*only go to https:\/\/api\.github\.com/,
    )
    const request_headers = sending(APPLICATION).settings.request_headers
    const two = await save(tree, {
      settings: {
        capture: [{ name: 'id', path: 'id' }],
        requests: {
          create: { target_url: 'https://api.github.com/x', request_headers },
          update: { target_url: 'https://proxy.example/', request_headers },
        },
      },
    })
    assert.deepEqual(Object.keys(two.body.errors), ['settings.requests.update.target_url'])
    const home = await save(tree, { target_url: 'https://api.github.com/repos/a/b', ...sending(APPLICATION) })
    assert.equal(home.status, 201, home.text)
    const without = await save(tree, { target_url: 'https://proxy.example/', settings: { request_body: {} } })
    assert.equal(without.status, 201, without.text)
    assert.equal((await limit(tree, 'anywhere')).status, 200)
    assert.equal(
      (await save(tree, { target_url: 'https://proxy.example/', ...sending(APPLICATION) })).status,
      201,
    )
  })

  test('stops the hooks that send it elsewhere, and its provider still gets it', async (t) => {
    const tree = await openTree()
    const elsewhere = await openReceiver(t)
    const provider = await openReceiver(t)
    await db
      .updateTable('credentials')
      .set({ provider_code: 'gitea', base_url: provider.url })
      .where('id', '=', tree.credentialId)
      .execute()
    const away = await makeHook({ target_url: elsewhere.url, ...sending(APPLICATION) }, tree)
    const home = await makeHook({ target_url: provider.url, ...sending(APPLICATION) }, tree)
    await move(await startAction(tree), IN_PROGRESS)
    await elsewhere.until(1)
    await provider.until(1)
    assert.equal((await limit(tree, 'provider', { query: '?stop_hooks=true' })).status, 200)
    await move(await startAction(tree), IN_PROGRESS)
    const [, second] = await provider.until(2)
    assert.equal(second!.headers['x-token'], TOKEN)
    const [, blocked] = await world.recorded(away.id, 2)
    assert.deepEqual([blocked!.outcome, elsewhere.arrivals.length], ['blocked', 1])
    assert.ok(blocked!.error!.includes(elsewhere.url) && blocked!.error!.includes('token_targets'))
    const tested = await request('POST', `/hooks/outgoing/${away.id}/test`, { token: tree.owner.token })
    assert.equal(tested.body.outcome, 'blocked')
    assert.equal((await world.recorded(home.id, 2)).at(-1)!.outcome, 'delivered')
    assert.equal(elsewhere.arrivals.length, 1)
  })

  test('lists the hooks that it would stop, each with where it sends the token, before it does', async () => {
    const tree = await openTree()
    const made = await makeHook(
      { target_url: 'https://proxy.example/x?{{ action.id }}', name: 'Proxy', ...sending(APPLICATION) },
      tree,
    )
    await makeHook({ target_url: 'https://api.github.com/', name: 'Home', ...sending(APPLICATION) }, tree)
    await makeHook(
      { target_url: 'https://other.example/', name: 'Plain', settings: { request_body: {} } },
      tree,
    )
    await makeHook(
      { target_url: 'https://off.example/', name: 'Off', active: false, ...sending(APPLICATION) },
      tree,
    )
    const refused = await limit(tree, 'provider')
    assert.equal(refused.status, 409, refused.text)
    assert.deepEqual(refused.body.errors, {
      token_targets: ['would stop: Proxy sends the token to https://proxy.example'],
    })
    assert.match(refused.body.message, /1 hook: Proxy .*\?stop_hooks=true/)
    const url = `/credentials/${tree.credentialId}`
    assert.equal((await request('GET', url, { token: tree.owner.token })).body.token_targets, 'anywhere')
    // A person who may not see the hook learns that there is one.
    const keeper = await createPerson(db)
    const role = await request('POST', `/organizations/${tree.organizationId}/roles`, {
      token: tree.owner.token,
      body: { name: 'Keeper', permissions: ['organization:view', 'credential:view', 'credential:edit'] },
    })
    assert.equal(role.status, 201, role.text)
    await db
      .insertInto('grants')
      .values({ user_id: keeper.id, organization_id: tree.organizationId, role_id: role.body.id })
      .execute()
    const blind = await limit(tree, 'provider', { token: keeper.token })
    assert.equal(blind.status, 409, blind.text)
    assert.doesNotMatch(blind.text, /Proxy|proxy\.example/)
    assert.match(blind.body.message, /1 hook/)
    await request('DELETE', `/hooks/outgoing/${made.id}`, { token: tree.owner.token })
    assert.equal((await limit(tree, 'provider')).status, 200)
    assert.equal((await limit(tree, 'provider')).status, 200)
  })

  test('is not what an SSH key can be, and needs credential:edit', async () => {
    const tree = await openTree()
    const { token } = tree.owner
    const body = { name: 'Key', provider_code: 'ssh', generate: true, token_targets: 'provider' }
    const key = await request('POST', `/organizations/${tree.organizationId}/credentials`, { token, body })
    assert.deepEqual(Object.keys(key.body.errors), ['token_targets'])
    const developer = await createMember(db, tree, 'developer')
    assert.equal((await limit(tree, 'provider', { token: developer.token })).status, 403)
    assert.equal((await limit(tree, 'nowhere')).status, 422)
  })
})

suite('a token that leaves its provider', () => {
  test('is named by the hook, in its page, lists and audit entries', async () => {
    const tree = await openTree()
    const { token } = tree.owner
    const made = await makeHook(
      { target_url: 'https://proxy.example/secret-path', ...sending(APPLICATION) },
      tree,
    )
    const url = `/hooks/outgoing/${made.id}`
    const read = async () => (await request('GET', url, { token })).body.token_origins
    assert.deepEqual(await read(), ['https://proxy.example'])
    const list = await request('GET', `/pipelines/${tree.pipelineId}/hooks`, { token })
    assert.deepEqual(list.body[0].token_origins, ['https://proxy.example'])
    const audit = async () =>
      (await request('GET', `/organizations/${tree.organizationId}/audit`, { token })).body[0]
    assert.deepEqual((await audit()).after.token_origins, ['https://proxy.example'])
    await request('PUT', url, { token, body: { target_url: 'https://api.github.com/' } })
    assert.deepEqual(await read(), [])
    const entry = await audit()
    assert.deepEqual(
      [entry.before.token_origins, entry.after.token_origins],
      [['https://proxy.example'], undefined],
    )
    await request('PUT', url, {
      token,
      body: { target_url: 'https://proxy.example/', settings: { request_body: {} } },
    })
    assert.deepEqual(await read(), [])
  })

  test('is that of the application, also where the hook names another credential', async () => {
    const tree = await openTree()
    const { token } = tree.owner
    const own = await request('POST', `/organizations/${tree.organizationId}/credentials`, {
      token,
      body: { name: 'Own', provider_code: 'gitea', base_url: 'https://git.example.com', token: 'x' },
    })
    const target_url = 'https://git.example.com/hook'
    const hook = await makeHook({ target_url, credential_id: own.body.id, ...sending(APPLICATION) }, tree)
    assert.deepEqual((await request('GET', `/hooks/outgoing/${hook.id}`, { token })).body.token_origins, [
      'https://git.example.com',
    ])
    assert.match((await limit(tree, 'provider')).body.message, /git\.example\.com/)
    const ofOwn = await request('PUT', `/credentials/${own.body.id}`, {
      token,
      body: { token_targets: 'provider' },
    })
    assert.equal(ofOwn.status, 200, ofOwn.text)
  })

  test('is named by the diagnostics', async (t) => {
    const api = await openTestApp(t)
    const admin = await createPerson(api.db, { admin: true })
    const tree = await createTestTree(api.db)
    const check = async (token = admin.token) => {
      const { body } = await api.request('GET', '/diagnostics', { token })
      return body.checks.find(({ name }: { name: string }) => name === 'tokens')
    }
    assert.equal((await check()).status, 'ok')
    const body = { name: 'Proxy', target_url: 'https://proxy.example/', ...sending(APPLICATION) }
    const made = await api.request('POST', `/pipelines/${tree.pipelineId}/hooks/outgoing`, {
      token: tree.owner.token,
      body,
    })
    assert.equal(made.status, 201, made.text)
    const found = await check()
    assert.equal(found.status, 'warning')
    assert.match(found.message, /^1 hook sends a token to other origins .*: https:\/\/proxy\.example\.$/)
    const { organizationId } = tree
    await grantRole(api.db, admin.id, 'viewer', { organizationId })
    assert.match((await check()).message, /https:\/\/proxy\.example \(Proxy\)\.$/)
    const url = `/credentials/${tree.credentialId}?stop_hooks=true`
    const limited = await api.request('PUT', url, {
      token: tree.owner.token,
      body: { token_targets: 'provider' },
    })
    assert.equal(limited.status, 200, limited.text)
    assert.match((await check()).message, /^1 hook may not send tokens to https:\/\/proxy\.example/)
  })
})

test('the installation can limit all tokens, whatever their credentials say', async (t) => {
  const strict = await openDeliveries(t, { tokenTargets: 'provider', delivers: false })
  const receiver = await openReceiver(t)
  const tree = await createTestTree(strict.db)
  const secret = strict.box.seal(TOKEN, credentialAad(tree.credentialId))
  await strict.db.updateTable('credentials').set({ secret }).where('id', '=', tree.credentialId).execute()
  const lenient = await openTestApp(t, { beside: strict.api, guard: strict.guard })
  const body = { name: 'Proxy', target_url: receiver.url, ...sending(APPLICATION) }
  const path = `/pipelines/${tree.pipelineId}/hooks/outgoing`
  const { token } = tree.owner
  const refused = await strict.request('POST', path, { token, body })
  assert.equal(refused.status, 422, refused.text)
  // Saved before the setting was made.
  const made = await lenient.request('POST', path, { token, body })
  assert.equal(made.status, 201, made.text)
  await startTestDelivering(t, strict.api, { guard: strict.guard, tokenTargets: 'provider' })
  await strict.move(await strict.startAction(tree), IN_PROGRESS)
  const [record] = await strict.recorded(made.body.id, 1)
  assert.equal(record!.outcome, 'blocked')
  const tested = await strict.request('POST', `/hooks/outgoing/${made.body.id}/test`, { token })
  assert.equal(tested.body.outcome, 'blocked')
  assert.equal(receiver.arrivals.length, 0)
  const preview = await strict.request('POST', `/hooks/outgoing/${made.body.id}/preview`, { token, body: {} })
  assert.match(preview.body.access_token, /token_targets/)
})

test('apply limits a credential, and lists the hooks that it stops, in a dry run too', async () => {
  const tree = await openTree()
  const { token } = tree.owner
  const hook = await makeHook(
    { target_url: 'https://proxy.example/', name: 'Proxy', ...sending(APPLICATION) },
    tree,
  )
  const project = (await request('GET', `/projects/${tree.projectId}`, { token })).body.name
  const url = `/organizations/${tree.organizationId}/export?project=${encodeURIComponent(project)}`
  const exported = (await request('GET', url, { token })).text
  assert.doesNotMatch(exported, /token_targets|ssh_hosts/)
  const document = exported
    .replace(/^ *token: \$\{.*\n/m, '')
    .replace(
      'provider_code: github\n',
      'provider_code: github\n    token_targets: provider\n    ssh_hosts: [b.example, A.example]\n',
    )
  const apply = async (dry_run: boolean) => {
    const answer = await request('POST', '/apply', { token, body: { document, dry_run } })
    assert.equal(answer.status, 200, answer.text)
    return answer.body
  }
  for (const dry_run of [true, false]) {
    const { stopped_hooks, changes } = await apply(dry_run)
    assert.deepEqual(stopped_hooks, [
      { hook_id: hook.id, name: 'Proxy', pipeline_id: tree.pipelineId, origins: ['https://proxy.example'] },
    ])
    assert.deepEqual(
      changes[0].fields.map(({ field, after }: { field: string; after: unknown }) => [field, after]),
      [
        ['token_targets', 'provider'],
        ['ssh_hosts', ['a.example', 'b.example']],
      ],
    )
  }
  const again = await apply(false)
  assert.deepEqual([again.changes, again.stopped_hooks], [[], []])
  const { text } = await request('GET', url, { token })
  assert.match(text, /token_targets: provider\n {4}ssh_hosts:\n/)
})
