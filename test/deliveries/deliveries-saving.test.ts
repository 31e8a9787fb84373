import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { createAddressGuard } from '#platform/addresses/guard.ts'
import { IN_PROGRESS, openDeliveries, openReceiver, startTestDelivering } from '#test/support/deliveries.ts'
import { openTestApp } from '#test/support/harness.ts'
import { createMember, createTestTree } from '#test/support/world.ts'

/** A fake DNS; no network is used. */
const addresses = new Map([
  ['receiver.example', ['93.184.216.34']],
  ['inside.example', ['10.0.0.5']],
  ['mixed.example', ['93.184.216.34', '127.0.0.1']],
])
const guard = createAddressGuard({
  allowTargets: [],
  baseUrl: () => 'https://gantry.example.com',
  lookup: async (name) => addresses.get(name) ?? [],
})
const world = await openDeliveries({ after }, { guard, delivers: false })
const { api, db, move, request, startAction, tree } = world

const TARGET = 'https://receiver.example/path'
const save = (input: object) =>
  request('POST', `/pipelines/${tree.pipelineId}/hooks/outgoing`, {
    token: tree.owner.token,
    body: { name: 'Notify', target_url: TARGET, ...input },
  })

async function errorsOf(input: object): Promise<Record<string, string[]>> {
  const answer = await save(input)
  assert.equal(answer.status, 422, `${JSON.stringify(input).slice(0, 200)} ${answer.text}`)
  return answer.body.errors
}
const header = (name: string, value = 'x') => ({ settings: { request_headers: [{ name, value }] } })
const body = (request_body: unknown) => ({ settings: { request_body } })

async function stored(): Promise<number> {
  return (await db.selectFrom('hooks').select('id').execute()).length
}

suite('saving a hook reports', () => {
  test('unknown names, with a suggestion and the position', async () => {
    const errors = await errorsOf({
      target_url: `${TARGET}/{{ actoin.id }}`,
      settings: {
        request_headers: [{ name: 'X-A', value: 'of {{ application.namee }}' }],
        request_body: { deep: [{ text: 'a\nb {{ action.no_such_field }}' }] },
      },
    })
    assert.deepEqual(Object.keys(errors).sort(), [
      'settings.request_body.deep.0.text',
      'settings.request_headers.0.value',
      'target_url',
    ])
    assert.match(errors.target_url![0]!, /unknown name actoin.*did you mean action.*at character \d+/)
    assert.match(errors['settings.request_headers.0.value']![0]!, /did you mean application\.name\?/)
    assert.match(
      errors['settings.request_body.deep.0.text']![0]!,
      /action\.no_such_field.*at line 2, column \d+/,
    )
  })

  test('conditions on fields that no event has', async () => {
    const paths = [
      'status',
      'application.name',
      'action.no_such_field',
      'action.status.code',
      'action.targets.first',
    ]
    const errors = await errorsOf({
      trigger_when: { conditions: paths.map((path) => ({ path, accepted_values: ['x'] })) },
    })
    assert.deepEqual(
      Object.keys(errors),
      paths.map((_, index) => `trigger_when.conditions.${index}.path`),
    )
    assert.match(errors['trigger_when.conditions.0.path']![0]!, /begin with event or action/)
    assert.match(errors['trigger_when.conditions.2.path']![0]!, /unknown name action\.no_such_field/)
    const fine = [
      'event.kind',
      'action.targets.0.status',
      'action.triggered_from.hook_parsed_variables.anything.below',
      'action["status"]',
    ]
    const saved = await save({
      trigger_when: { conditions: fine.map((path) => ({ path, accepted_values: ['x'] })) },
    })
    assert.equal(saved.status, 201, saved.text)
  })

  test('templates with syntax errors', async () => {
    const broken = [
      '{{ action.id',
      '{% if action.id %}x',
      '{{ action.id | no_such_filter }}',
      '{% include "x" %}',
    ]
    for (const text of broken) {
      const errors = await errorsOf(body({ text }))
      assert.deepEqual(Object.keys(errors), ['settings.request_body.text'], text)
      assert.match(errors['settings.request_body.text']![0]!, /at character \d+/)
    }
  })

  test('expressions that would choose the receiver', async () => {
    const id = '{{ action.id }}'
    const urls = [
      `http${id}://receiver.example/`,
      `https://${id}/`,
      `https://${id}.example/`,
      `https://receiver.example${id}/`,
      `https://receiver.example:${id}/`,
      `https://${id}@receiver.example/`,
      `https://receiver.example:8443${id}`,
    ]
    for (const target_url of urls) assert.ok((await errorsOf({ target_url })).target_url, target_url)
    for (const target_url of [`${TARGET}/${id}`, `${TARGET}?a=${id}`, `${TARGET}#${id}`])
      assert.equal((await save({ target_url })).status, 201, target_url)
  })

  test('URLs that are not http(s) or contain a password', async () => {
    const urls = [
      'file:///etc/passwd',
      'ftp://receiver.example/',
      'receiver.example/',
      'https://',
      'https:///path',
      'https://robot:secret@receiver.example/',
      'https://robot@receiver.example/',
      'https://receiver.example\\@inside.example/',
      `https://receiver.example/${'x'.repeat(2_048)}`,
    ]
    for (const target_url of urls) assert.ok((await errorsOf({ target_url })).target_url, target_url)
  })

  test('private addresses, in every spelling', async () => {
    const hosts = `127.0.0.1 127.1 0x7f000001 2130706433 0177.0.0.1 [::1] [::ffff:127.0.0.1] [::ffff:7f00:1] 10.1.2.3
      192.168.0.1 172.16.0.1 169.254.169.254 [fd00:ec2::254] 0.0.0.0 100.64.0.1 inside.example mixed.example
      INSIDE.example 127.0.0.1:8080`
    for (const host of hosts.split(/\s+/)) {
      const errors = await errorsOf({ target_url: `http://${host}/x` })
      assert.match(errors.target_url![0]!, /may not be reached/, host)
    }
    // A name that does not resolve today may resolve tomorrow.
    assert.equal((await save({ target_url: 'https://not-yet.example/' })).status, 201)
  })

  test('headers that are reserved, repeated, or contain line breaks', async () => {
    const names =
      'Host Content-Length Transfer-Encoding Connection webhook-id Webhook-Signature webhook-timestamp Upgrade'
    for (const name of names.split(' '))
      assert.ok((await errorsOf(header(name)))['settings.request_headers.0.name'], name)
    for (const name of ['', 'X Y', 'X:', 'X\r\nY'])
      assert.ok((await errorsOf(header(name)))['settings.request_headers.0.name'], name)
    assert.ok((await errorsOf(header('X-A', 'a\r\nX-B: c')))['settings.request_headers.0.value'])
    const twice = [
      { name: 'X-A', value: '1' },
      { name: 'x-a', value: '2' },
    ]
    const errors = await errorsOf({ settings: { request_headers: twice } })
    assert.deepEqual(Object.keys(errors), ['settings.request_headers.1.name'])
  })

  test('oversized bodies, unknown events, and timeouts that are too long', async () => {
    assert.ok((await errorsOf(body({ a: 'x'.repeat(200 * 1024) })))['settings.request_body'])
    assert.ok((await errorsOf(body(['no object'])))['settings.request_body'])
    for (const events of [['action.exploded'], [], ['action.failed', 'action.failed']])
      assert.ok(
        Object.keys(await errorsOf({ trigger_when: { events } }))[0]!.startsWith('trigger_when.events'),
      )
    for (const timeout_seconds of [0, 31, 1.5])
      assert.ok((await errorsOf({ settings: { timeout_seconds } }))['settings.timeout_seconds'])
    assert.ok((await errorsOf({ settings: { request_method: 'TRACE' } }))['settings.request_method'])
    assert.ok((await errorsOf({ reqires_secret: true })).reqires_secret)
  })

  test('all errors at once, and stores nothing', async () => {
    const before = await stored()
    const errors = await errorsOf({
      target_url: 'http://10.0.0.1/{{ nothing }}',
      action_type: 'restart',
      settings: {
        request_headers: [{ name: 'Host', value: '{{ nobody }}' }],
        request_body: { a: '{{ none }}' },
      },
      trigger_when: { conditions: [{ path: 'a[', accepted_values: [1] }] },
    })
    assert.deepEqual(Object.keys(errors).sort(), [
      'action_type',
      'settings.request_body.a',
      'settings.request_headers.0.name',
      'settings.request_headers.0.value',
      'target_url',
      'trigger_when.conditions.0.path',
    ])
    assert.equal(errors.target_url!.length, 2)
    assert.equal(await stored(), before)
  })

  test('errors of a change, and leaves the hook unchanged', async () => {
    const made = await save({})
    const changed = await world.change(made.body.id, { target_url: 'http://127.1/', ...header('Host') })
    assert.equal(changed.status, 422)
    assert.deepEqual(Object.keys(changed.body.errors).sort(), [
      'settings.request_headers.0.name',
      'target_url',
    ])
    const read = await request('GET', `/hooks/outgoing/${made.body.id}`, { token: tree.owner.token })
    assert.equal(read.body.target_url, TARGET)
  })
})

suite('a host name that resolves differently than when the hook was saved', () => {
  test('is not followed into the private network, and the delivery is not retried', async (t) => {
    const receiver = await openReceiver(t)
    const { port } = new URL(receiver.url)
    addresses.set('turncoat.example', ['93.184.216.34'])
    const made = await save({ target_url: `http://turncoat.example:${port}/` })
    assert.equal(made.status, 201, made.text)
    addresses.set('turncoat.example', ['127.0.0.1'])
    await startTestDelivering(t, api, { guard })
    await move(await startAction(tree), IN_PROGRESS)
    const [record] = await world.recorded(made.body.id, 1)
    assert.deepEqual([record!.outcome, record!.next_attempt_at], ['blocked', null])
    assert.match(record!.error!, /turncoat\.example \(127\.0\.0\.1\) may not be reached/)
    assert.equal((await world.untilIdle(made.body.id))[0]!.state, 'failed')
    assert.equal(receiver.arrivals.length, 0)
  })
})

test('an instance on loopback may call loopback addresses, but no metadata service', async (t) => {
  const neighbors = createAddressGuard({ allowTargets: [], baseUrl: () => 'http://127.0.0.1:7070' })
  const beside = await openTestApp(t, { beside: api, guard: neighbors })
  const other = await createTestTree(db)
  const saveBeside = (target_url: string) =>
    beside.request('POST', `/pipelines/${other.pipelineId}/hooks/outgoing`, {
      token: other.owner.token,
      body: { name: 'Notify', target_url },
    })
  assert.equal((await saveBeside('http://127.0.0.1:8080/')).status, 201)
  assert.equal((await saveBeside('http://169.254.169.254/')).status, 422)
  assert.equal((await saveBeside('http://10.0.0.1/')).status, 422)
})

test('users with hook:edit see what a hook sends, others only the names', async () => {
  const saved = await save({
    settings: {
      request_headers: [{ name: 'Authorization', value: 'Bearer written-by-hand' }],
      request_body: { routing_key: 'written-by-hand', deep: [{ text: 'written-by-hand', number: 1 }] },
    },
  })
  const viewer = await createMember(db, tree, 'viewer')
  const list = `/pipelines/${tree.pipelineId}/hooks`
  for (const path of [`/hooks/outgoing/${saved.body.id}`, list]) {
    const forViewer = await request('GET', path, { token: viewer.token })
    assert.equal(forViewer.status, 200)
    assert.doesNotMatch(forViewer.text, /written-by-hand/)
    const forOwner = await request('GET', path, { token: tree.owner.token })
    assert.match(forOwner.text, /Bearer written-by-hand/)
  }
  const { settings } = (await request('GET', `/hooks/outgoing/${saved.body.id}`, { token: viewer.token }))
    .body
  assert.deepEqual(settings.request_headers, [{ name: 'Authorization', value: '********' }])
  assert.deepEqual(settings.request_body, {
    routing_key: '********',
    deep: [{ text: '********', number: 1 }],
  })
})
