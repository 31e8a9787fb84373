import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { COMPLETED, FAILED, IN_PROGRESS, openDeliveries, openReceiver } from '#test/support/deliveries.ts'
import { createMember, createTestTree } from '#test/support/world.ts'

type Arrival = Awaited<ReturnType<Awaited<ReturnType<typeof openReceiver>>['until']>>[number]

const world = await openDeliveries({ after })
const { db, move, startAction, makeHook } = world

suite('an outgoing hook', () => {
  test('notifies its receiver of every status change, in order, and records each', async (t) => {
    const receiver = await openReceiver(t)
    const tree = await createTestTree(db)
    const hook = await makeHook(
      {
        target_url: `${receiver.url}/statuses/{{ action.id }}`,
        settings: {
          request_headers: [{ name: 'X-Run', value: 'run {{ action.id }}' }],
          request_body: { state: '{{ action.status }}', of: '{{ application.name }}', nested: { n: 1 } },
        },
      },
      tree,
    )
    const action = await startAction(tree)
    await move(action, IN_PROGRESS, COMPLETED)
    const arrivals = await receiver.until(2)
    assert.deepEqual(
      arrivals.map(({ json }) => json),
      ['in-progress', 'completed'].map((state) => ({ state, of: 'Shop', nested: { n: 1 } })),
    )
    assert.equal(arrivals[0]!.path, `/statuses/${action}`)
    assert.equal(arrivals[0]!.headers['x-run'], `run ${action}`)
    assert.equal(arrivals[0]!.headers['user-agent'], 'Gantry/test')
    assert.equal(arrivals[0]!.headers['content-type'], 'application/json')
    assert.deepEqual(
      (await world.untilIdle(hook.id)).map(({ state, attempts }) => ({ state, attempts })),
      [1, 1].map((attempts) => ({ state: 'delivered', attempts })),
    )
    const listed = await world.request('GET', `/hooks/outgoing/${hook.id}/requests`, {
      token: tree.owner.token,
    })
    assert.deepEqual(
      listed.body.map(({ outcome, response_status_code, attempt, action_id }: Record<string, unknown>) => ({
        outcome,
        response_status_code,
        attempt,
        action_id,
      })),
      [1, 2].map(() => ({ outcome: 'delivered', response_status_code: 200, attempt: 1, action_id: action })),
    )
    const shown = await world.request('GET', `/actions/${action}`, { token: tree.owner.token })
    assert.equal(shown.body.hook_requests.outgoing.id, listed.body[0].id)
  })

  test('shows its full URL to users with hook:edit; others see the host, because a path can be a secret', async (t) => {
    const receiver = await openReceiver(t)
    const tree = await createTestTree(db)
    const address = `${receiver.url}/services/T0/B0/key?token=x`
    const hook = await makeHook({ target_url: address }, tree)
    const action = await startAction(tree)
    await move(action, IN_PROGRESS)
    const [record] = await world.recorded(hook.id, 1)
    const viewer = await createMember(db, tree, 'viewer')
    const addressesFor = async (token: string) => {
      const read = async (path: string) => (await world.request('GET', path, { token })).body
      return [
        (await read(`/hooks/outgoing/${hook.id}`)).target_url,
        (await read(`/pipelines/${tree.pipelineId}/hooks`))[0].target_url,
        (await read(`/hooks/outgoing/${hook.id}/requests`))[0].url,
        (await read(`/actions/${action}/hook-requests`))[0].url,
        (await read(`/hook-requests/${record!.id}`)).url,
      ]
    }
    const masked = `${receiver.url}/********`
    assert.deepEqual(await addressesFor(tree.owner.token), Array(5).fill(address))
    assert.deepEqual(await addressesFor(viewer.token), Array(5).fill(masked))
    const shown = await world.request('GET', `/actions/${action}`, { token: tree.owner.token })
    assert.equal(
      shown.body.hook_requests.outgoing.url,
      masked,
      'a user who can see a run may not be able to see hooks',
    )
  })

  test('without a custom body sends the event and the full action', async (t) => {
    const receiver = await openReceiver(t)
    const tree = await createTestTree(db)
    await makeHook({ target_url: receiver.url, trigger_when: { events: ['action.failed'] } }, tree)
    const action = await startAction(tree)
    await move(action, IN_PROGRESS, FAILED)
    const [arrival] = await receiver.until(1)
    const { event, action: received } = arrival!.json
    assert.equal(event.kind, 'action.failed')
    assert.equal(event.previous_status, 'in-progress')
    assert.equal(received.id, action)
    assert.equal(received.status, 'failed')
    const shown = await world.request('GET', `/actions/${action}`, { token: tree.owner.token })
    assert.deepEqual(Object.keys(received).sort(), Object.keys(shown.body).sort())
  })

  test('keeps the order of the keys in its body, and its large integers', async (t) => {
    const receiver = await openReceiver(t)
    const tree = await createTestTree(db)
    const { token } = tree.owner
    const body = (state: string) =>
      `{"z":12345678901234567890,"a":{"y":[-9007199254740993,1],"b":"${state}"},"m":null,"aa":1.5}`
    const written = body('{{ action.status }}')
    const send = (method: string, path: string, rawBody: string) =>
      world.request(method, path, { token, rawBody, headers: { 'content-type': 'application/json' } })
    const settings = `{"request_body":${written}}`
    const made = await send(
      'POST',
      `/pipelines/${tree.pipelineId}/hooks/outgoing`,
      `{"name":"Exact","target_url":"${receiver.url}","settings":${settings}}`,
    )
    assert.equal(made.status, 201, made.text)
    const url = `/hooks/outgoing/${made.body.id}`
    const asWritten = `"request_body":${written}`
    assert.ok(made.text.includes(asWritten), made.text)
    assert.ok((await send('PUT', url, '{"name":"Renamed"}')).text.includes(asWritten))
    assert.ok((await send('PUT', url, `{"settings":${settings}}`)).text.includes(asWritten))
    assert.ok((await world.request('GET', url, { token })).text.includes(asWritten))
    assert.ok(
      (await world.request('GET', `/pipelines/${tree.pipelineId}/hooks`, { token })).text.includes(asWritten),
    )
    const viewer = await createMember(db, tree, 'viewer')
    const masked = await world.request('GET', url, { token: viewer.token })
    assert.ok(masked.text.includes(`"request_body":${body('********')}`), masked.text)
    await move(await startAction(tree), IN_PROGRESS)
    const [arrival] = await receiver.until(1)
    assert.equal(arrival!.body, body('in-progress'))
    const preview = await world.request('POST', `${url}/preview`, { token, body: {} })
    assert.equal(preview.body.body, body('in-progress'))
  })

  test('reads the variables of the call in actions that follow the one it started', async (t) => {
    const receiver = await openReceiver(t)
    const tree = await createTestTree(db)
    const { token } = tree.owner
    const post = async (url: string, body: object) => {
      const answer = await world.request('POST', url, { token, body })
      assert.ok(answer.status < 300, answer.text)
      return answer.body
    }
    let pipeline = tree.pipelineId
    for (const name of ['Follow', 'Follow up']) {
      const input = { name, operation: 'custom', run_after: [pipeline] }
      pipeline = (await post(`/pipelines/application/${tree.applicationId}`, input)).id
      await post(`/pipelines/${pipeline}/steps`, { name: 'tidy', command: 'true' })
    }
    const hook = await makeHook(
      {
        target_url: `${receiver.url}/{{ action.triggered_from.hook_parsed_variables.tag }}`,
        settings: { request_body: { tag: '{{ action.triggered_from.hook_parsed_variables.tag }}' } },
        trigger_when: { events: ['action.created'] },
      },
      { ...tree, pipelineId: pipeline },
    )
    const variables = [{ name: 'tag', type: 'string', required: true }]
    const incoming = await post(`/pipelines/${tree.pipelineId}/hooks/incoming`, {
      name: 'Push',
      settings: { variables },
    })
    await post(new URL(incoming.url).pathname, { tag: 'v3' })
    const [arrival] = await receiver.until(1)
    assert.deepEqual([arrival!.path, arrival!.json], ['/v3', { tag: 'v3' }])
    const preview = await post(`/hooks/outgoing/${hook.id}/preview`, {})
    assert.equal(preview.body, '{"tag":"v3"}')
    const shown = await world.request('GET', `/actions/${preview.action_id}`, { token })
    assert.deepEqual(shown.body.triggered_from.hook_parsed_variables, { tag: 'v3' })
    assert.equal(shown.body.triggered_from.trigger_type, 'pipeline')
  })

  test('escapes variables of the run in its templates', async (t) => {
    const receiver = await openReceiver(t)
    const tree = await createTestTree(db)
    const variable = (name: string) => `{{ action.triggered_from.hook_parsed_variables.${name} }}`
    await makeHook(
      {
        target_url: `${receiver.url}/of/${variable('branch')}?note=${variable('note')}`,
        settings: {
          request_headers: [{ name: 'X-Note', value: variable('note') }],
          request_body: { note: variable('note'), absent: `[${variable('nothing')}]` },
        },
      },
      tree,
    )
    const note = '", "admin": true, "x": "\r\nX-Evil: 1 & a=b'
    await move(await startAction(tree, { branch: 'a/../../b', note }), IN_PROGRESS)
    const [arrival] = await receiver.until(1)
    assert.deepEqual(arrival!.json, { note, absent: '[]' })
    assert.equal(arrival!.path, `/of/a%2F..%2F..%2Fb?note=${encodeURIComponent(note)}`)
    assert.equal(arrival!.headers['x-evil'], undefined)
  })

  test('with unmet conditions sends nothing and records nothing', async (t) => {
    const receiver = await openReceiver(t)
    const tree = await createTestTree(db)
    const conditions = [{ path: 'action.status', accepted_values: ['failed', 'skipped'] }]
    const hook = await makeHook({ target_url: receiver.url, trigger_when: { conditions } }, tree)
    await move(await startAction(tree), IN_PROGRESS, COMPLETED)
    await move(await startAction(tree), IN_PROGRESS, FAILED)
    await receiver.until(1)
    const deliveries = await world.untilIdle(hook.id)
    assert.deepEqual(
      deliveries.map(({ state }) => state),
      ['ignored', 'ignored', 'ignored', 'delivered'],
    )
    assert.equal((await world.requests(hook.id)).length, 1)
    assert.equal(receiver.arrivals.length, 1)
    assert.equal(receiver.arrivals[0]!.json.action.status, 'failed')
  })
})

suite('a receiver', () => {
  const isFrom = (secret: string, { body, headers }: Arrival) => {
    try {
      new Webhook(secret).verify(body, headers)
      return true
    } catch {
      return false
    }
  }

  test('can verify the sender with the secret of the hook', async (t) => {
    const receiver = await openReceiver(t)
    const tree = await createTestTree(db)
    const hook = await makeHook({ target_url: receiver.url, settings: { request_body: { a: 'ü' } } }, tree)
    const other = await makeHook({ target_url: receiver.url }, await createTestTree(db))
    assert.match(hook.secret, /^whsec_/)
    await move(await startAction(tree), IN_PROGRESS)
    const [arrival] = await receiver.until(1)
    assert.equal(isFrom(hook.secret, arrival!), true)
    assert.equal(isFrom(other.secret, arrival!), false)
    assert.equal(isFrom(hook.secret, { ...arrival!, body: arrival!.body.replace('ü', 'u') }), false)
  })

  test('can verify a GET request without a body as well', async (t) => {
    const receiver = await openReceiver(t)
    const tree = await createTestTree(db)
    const settings = { request_method: 'GET' }
    const hook = await makeHook({ target_url: receiver.url, settings }, tree)
    await move(await startAction(tree), IN_PROGRESS)
    const [arrival] = await receiver.until(1)
    assert.deepEqual([arrival!.method, arrival!.body], ['GET', ''])
    // The library rejects an empty body; the standard does not.
    assert.equal(
      new Webhook(hook.secret).sign(
        arrival!.headers['webhook-id']!,
        new Date(Number(arrival!.headers['webhook-timestamp']) * 1_000),
        '',
      ),
      arrival!.headers['webhook-signature'],
    )
  })

  test('can verify with the old and the new secret while they overlap, then only with the new one', async (t) => {
    const receiver = await openReceiver(t)
    const tree = await createTestTree(db)
    const hook = await makeHook({ target_url: receiver.url }, tree)
    const rotate = async (overlap_seconds: number): Promise<string> => {
      const url = `/hooks/outgoing/${hook.id}/rotate-secret`
      const answer = await world.request('POST', url, { token: tree.owner.token, body: { overlap_seconds } })
      assert.equal(answer.status, 200)
      return answer.body.secret
    }
    const second = await rotate(3_600)
    await move(await startAction(tree), IN_PROGRESS)
    const [during] = await receiver.until(1)
    assert.deepEqual([isFrom(hook.secret, during!), isFrom(second, during!)], [true, true])

    const third = await rotate(0)
    await move(await startAction(tree), IN_PROGRESS)
    const arrival = (await receiver.until(2))[1]!
    assert.deepEqual(
      [hook.secret, second, third].map((secret) => isFrom(secret, arrival)),
      [false, false, true],
    )
  })
})
