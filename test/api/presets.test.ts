// Presets of outgoing hooks as the API takes and shows them. What they send: test/deliveries/preset-*.test.ts.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { openTestApp } from '#test/support/harness.ts'
import { createMember, createTestTree } from '#test/support/world.ts'

const { db, request } = await openTestApp({ after })
const tree = await createTestTree(db)
const { token } = tree.owner

async function addCredential(
  provider_code: string,
  base_url: string | null = null,
  more: { ssh_hosts?: string[] } = {},
): Promise<number> {
  const body = {
    name: `${provider_code} ${base_url ?? ''}`,
    provider_code,
    base_url,
    token: 'a-token',
    ...more,
  }
  const made = await request('POST', `/organizations/${tree.organizationId}/credentials`, { token, body })
  assert.equal(made.status, 201, made.text)
  return made.body.id
}

let count = 0
const slack = await addCredential('slack')
const save = (body: object, pipelineId = tree.pipelineId) =>
  request('POST', `/pipelines/${pipelineId}/hooks/outgoing`, {
    token,
    body: { name: `Notify ${++count}`, ...body },
  })
const SLACK = { credential_id: slack, settings: { preset: { kind: 'slack_message', channel: '#deploys' } } }
const STATUS = { settings: { preset: { kind: 'github_status' } } }

suite('a hook with a preset', () => {
  test('needs only a credential, and shows what it sends', async () => {
    const { status, body, text } = await save(SLACK)
    assert.equal(status, 201, text)
    assert.deepEqual(body.settings, { ...SLACK.settings, timeout_seconds: 15 })
    assert.equal(body.target_url, 'https://slack.com/api/chat.postMessage')
    assert.deepEqual(Object.keys(body.effective_settings), ['timeout_seconds', 'capture', 'requests'])
    assert.equal(body.effective_settings.requests.update.target_url, 'https://slack.com/api/chat.update')
    assert.ok(!body.trigger_when.events.includes('action.status_changed'))
    const ordinary = await save({ target_url: 'https://example.com/' })
    assert.equal(ordinary.body.effective_settings, null)
    const viewer = await createMember(db, tree, 'viewer')
    const seen = await request('GET', `/hooks/outgoing/${body.id}`, { token: viewer.token })
    assert.equal(seen.body.effective_settings.requests.create.request_body.channel, '********')
  })

  test('takes the credential of the application when it names none', async () => {
    const made = await save(STATUS)
    assert.equal(made.status, 201, made.text)
    assert.match(made.body.target_url, /^https:\/\/api\.github\.com\/repos\//)
    const own = await addCredential('github', 'https://git.example.com', { ssh_hosts: ['github.com'] })
    const url = `/hooks/outgoing/${made.body.id}`
    const moved = await request('PUT', url, { token, body: { credential_id: own } })
    assert.match(moved.body.target_url, /^https:\/\/git\.example\.com\/api\/v3\/repos\//)
    assert.match(moved.body.effective_settings.request_headers[0].value, /credential\.access_token/)
    const body = { base_url: 'https://new.example.com', token: 'a-token' }
    await request('PUT', `/credentials/${own}`, { token, body })
    assert.match((await request('GET', url, { token })).body.target_url, /^https:\/\/new\.example\.com\//)
    const unfit = await request('PUT', url, { token, body: { credential_id: slack } })
    assert.match(unfit.body.errors.credential_id[0], /must be a credential of GitHub/)
  })

  test('takes nothing else of a request, and only what fits the kind and the pipeline', async () => {
    const wrong: [object, string][] = [
      [{ settings: { ...SLACK.settings, request_body: {} } }, 'settings.request_body'],
      [{ settings: { ...SLACK.settings, capture: [] } }, 'settings.capture'],
      [{ target_url: 'https://example.com/' }, 'target_url'],
      [{ settings: { preset: { kind: 'slack_message' } } }, 'settings.preset.channel'],
      [{ settings: { preset: { kind: 'slack_message', channel: '{{ x }}' } } }, 'settings.preset.channel'],
      [
        { settings: { preset: { kind: 'slack_message', channel: 'x', context: 'y' } } },
        'settings.preset.context',
      ],
      [{ settings: { preset: { kind: 'slack' } } }, 'settings.preset.kind'],
      [{ credential_id: null }, 'credential_id'],
      [
        {
          ...STATUS,
          credential_id: null,
          settings: { preset: { kind: 'github_status', context: '{{ a }}' } },
        },
        'settings.preset',
      ],
    ]
    for (const [more, field] of wrong) {
      const { status, body } = await save({ ...SLACK, ...more })
      assert.deepEqual([status, Object.keys(body.errors ?? {})], [422, [field]], JSON.stringify(more))
    }
    const ofServer = await save(STATUS, tree.serverPipelineId)
    assert.match(ofServer.body.errors['settings.preset.kind'][0], /must belong to an application/)
    assert.equal((await save(SLACK, tree.serverPipelineId)).status, 201)
  })

  test('becomes an ordinary hook that sends the same, when it is ejected', async () => {
    const { body: made } = await save(STATUS)
    const url = `/hooks/outgoing/${made.id}`
    const developer = await createMember(db, tree, 'viewer')
    assert.equal((await request('POST', `${url}/eject`, { token: developer.token })).status, 403)
    const { status, body, text } = await request('POST', `${url}/eject`, { token })
    assert.equal(status, 200, text)
    assert.deepEqual(body.settings, made.effective_settings)
    assert.deepEqual([body.target_url, body.effective_settings], [made.target_url, null])
    assert.deepEqual(body.trigger_when.events, made.trigger_when.events)
    assert.equal(body.trigger_when.conditions.length, 1)
    assert.equal((await request('POST', `${url}/eject`, { token })).status, 409)
    const { settings, trigger_when, target_url } = body
    const again = await request('PUT', url, { token, body: { settings, trigger_when, target_url } })
    assert.equal(again.status, 200, again.text)
    const audit = await request('GET', `/organizations/${tree.organizationId}/audit?per_page=5`, { token })
    assert.ok(JSON.stringify(audit.body).includes('ejected'), audit.text)
    for (const kind of ['github_deployment', 'slack_message']) {
      const preset = kind === 'slack_message' ? SLACK : { settings: { preset: { kind } } }
      const { body: hook } = await save(preset)
      const ejected = await request('POST', `/hooks/outgoing/${hook.id}/eject`, { token })
      const change = { settings: ejected.body.settings }
      const saved = await request('PUT', `/hooks/outgoing/${hook.id}`, { token, body: change })
      assert.equal(saved.status, 200, saved.text)
    }
  })

  test('is exported and applied with its credential by name', async () => {
    const { body: made } = await save({ ...SLACK, name: 'In the file' })
    const { name } = await db
      .selectFrom('projects')
      .select('name')
      .where('id', '=', tree.projectId)
      .executeTakeFirstOrThrow()
    const url = `/organizations/${tree.organizationId}/export?project=${encodeURIComponent(name)}`
    const exported = await request('GET', url, { token })
    assert.match(exported.text, /credential: "?slack/)
    assert.match(exported.text, /preset:/)
    const values = Object.fromEntries(
      [...exported.text.matchAll(/\$\{([A-Z0-9_]+)\}/g)].map(([, name]) => [name, 'a-token']),
    )
    const apply = (document: string) =>
      request('POST', '/apply', { token, body: { document, values, dry_run: true } })
    const same = await apply(exported.text)
    assert.equal(same.status, 200, same.text)
    const changes = same.body.changes.filter(({ type }: { type: string }) => type === 'hook')
    assert.deepEqual(changes, [], same.text)
    const other = await apply(exported.text.replaceAll('#deploys', '#releases'))
    assert.ok(
      other.body.changes.some(({ name }: { name: string }) => name === made.name),
      other.text,
    )
  })
})
