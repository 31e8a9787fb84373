// Records of requests that contain secrets: whatever a template makes of a secret is sent, and never stored, streamed or logged.
import assert from 'node:assert/strict'
import { Writable } from 'node:stream'
import { after, suite, test } from 'node:test'
import { sql } from 'kysely'
import { pino } from 'pino'
import { credentialAad } from '#model/inventory/sealed-aad.ts'
import { MASK } from '#platform/masking/masked.ts'
import { COMPLETED, IN_PROGRESS, openDeliveries, openReceiver } from '#test/support/deliveries.ts'
import { listen, openStream } from '#test/support/streams.ts'
import { createTestTree, type TestTree } from '#test/support/world.ts'

let logged = ''
const write = (chunk: Buffer, _: string, done: () => void) => {
  logged += chunk
  done()
}
const log = pino({ level: 'trace' }, new Writable({ write }))
const world = await openDeliveries({ after }, { log })
const { api, box, db, makeHook, move, request, startAction } = world
const host = await listen(api)

const TOKEN = 'glpat-0123456789abcdefXYZ'
const BOTH = ['application.source_provider.access_token', 'credential.access_token']

/** Filters, and what they make of the token. */
const TRANSFORMED: Record<string, string> = {
  "split: '' | join: ' '": TOKEN.split('').join(' '),
  "split: '' | reverse | join: ''": [...TOKEN].reverse().join(''),
  'slice: 0, 24': TOKEN.slice(0, 24),
  'slice: 1, 24': TOKEN.slice(1),
  'truncate: 24': `${TOKEN.slice(0, 21)}...`,
  "remove: 'glpat-'": TOKEN.slice(6),
  "remove_first: 'l'": TOKEN.replace('l', ''),
  "replace: '0', 'O'": TOKEN.replaceAll('0', 'O'),
  "append: 'x' | replace_first: 'a', '@'": TOKEN.replace('a', '@'),
  "split: '5' | last": TOKEN.split('5')[1]!,
  'base64_encode | base64_encode': Buffer.from(Buffer.from(TOKEN).toString('base64')).toString('base64'),
  'base64_encode | slice: 1, 30': Buffer.from(TOKEN).toString('base64').slice(1, 31),
  'slugify | slice: 2, 20': TOKEN.toLowerCase().slice(2, 22),
}
const BLOCKS: Record<string, string> = {
  "{% assign parts = NAME | split: '' %}{% for part in parts %}{{ part }}.{% endfor %}": [...TOKEN]
    .map((part) => `${part}.`)
    .join(''),
  "{% capture copy %}{{ NAME }}{% endcapture %}{{ copy | split: '' | join: '_' }}": TOKEN.split('').join('_'),
}

function templatesFor(name: string): [template: string, sent: string][] {
  return [
    ...Object.entries(TRANSFORMED).map(([filters, sent]): [string, string] => [
      `<{{ ${name} | ${filters} }}>`,
      sent,
    ]),
    ...Object.entries(BLOCKS).map(([block, sent]): [string, string] => [block.replace('NAME', name), sent]),
  ]
}

/** A tree whose credential belongs to the service at this address. */
async function openTree(baseUrl: string): Promise<TestTree> {
  const tree = await createTestTree(db)
  await db
    .updateTable('credentials')
    .set({
      secret: box.seal(TOKEN, credentialAad(tree.credentialId)),
      provider_code: 'gitea',
      base_url: baseUrl,
    })
    .where('id', '=', tree.credentialId)
    .execute()
  return tree
}

/** Every column of every row that a hook has left behind, as text. */
async function storedOf(hookId: string): Promise<string> {
  const { rows } = await sql<{ row: string }>`
    select concat_ws(' ', r::text, convert_from(request_body, 'utf8'), convert_from(response_body, 'utf8')) as row
    from hook_requests r where hook_id = ${hookId}
    union all select d::text from deliveries d where hook_id = ${hookId}
    union all select c::text from status_checks c where hook_id = ${hookId}
    union all select v::text from captured_values v where hook_id = ${hookId}`.execute(db)
  return rows.map(({ row }) => row).join('\n')
}

/** Everything that people can read about a hook, its stream included. */
async function shownOf(hookId: string, tree: TestTree): Promise<string> {
  const { token } = tree.owner
  const records = await world.requests(hookId)
  const paths = [
    `/hooks/outgoing/${hookId}`,
    `/hooks/outgoing/${hookId}/requests`,
    ...records.map(({ id }) => `/hook-requests/${id}`),
    ...records.flatMap(({ action_id }) => [
      `/actions/${action_id}/hook-requests`,
      `/actions/${action_id}/notifications`,
    ]),
  ]
  const answers = await Promise.all(paths.map((path) => request('GET', path, { token })))
  return answers.map(({ text }) => text).join('\n')
}

function assertHidden(text: string, secrets: readonly string[]): void {
  for (const secret of secrets) {
    const forms = [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret)]
    for (const form of forms) assert.ok(!text.includes(form), `${form} can be read`)
  }
}

suite('what filters make of a token', () => {
  for (const name of BOTH) {
    test(`is sent, and is in no record, stream or log: ${name}`, async (t) => {
      const receiver = await openReceiver(t)
      const tree = await openTree(receiver.url)
      const texts = templatesFor(name)
      const request_headers = texts.map(([value], index) => ({ name: `X-${index}`, value }))
      const request_body = Object.fromEntries(texts.map(([value], index) => [`field-${index}`, value]))
      const hook = await makeHook(
        {
          target_url: `${receiver.url}/{{ action.id }}`,
          settings: { request_headers, request_body: { ...request_body, state: '{{ action.status }}' } },
        },
        tree,
      )
      const stream = await openStream(`${host}/hooks/outgoing/${hook.id}/stream`, tree.owner.token, {})
      await stream.until((events) => events.length >= 1)
      const action = await startAction(tree)
      await move(action, IN_PROGRESS)
      const [record] = await world.recorded(hook.id, 1)
      await stream.until((events) => events.some(({ type }) => type === 'delivery'))
      const { text: tested, status } = await request('POST', `/hooks/outgoing/${hook.id}/test`, {
        token: tree.owner.token,
      })
      assert.equal(status, 200, tested)
      await world.untilIdle(hook.id)

      const sent = texts.map(([, text]) => text)
      for (const arrival of receiver.arrivals)
        for (const [index, text] of sent.entries()) {
          assert.ok(arrival.headers[`x-${index}`]!.includes(text))
          assert.ok(arrival.json[`field-${index}`].includes(text))
        }
      const streamed = JSON.stringify(stream.events)
      await stream.cut()
      const secrets = [TOKEN, ...sent]
      assertHidden(await storedOf(hook.id), secrets)
      assertHidden(await shownOf(hook.id, tree), secrets)
      assertHidden(tested, secrets)
      assertHidden(streamed, secrets)
      assertHidden(logged, secrets)
      // What the template says apart from the token is there.
      assert.equal(record!.url, `${receiver.url}/${action}`)
      const body = JSON.parse(record!.request_body!.toString())
      assert.equal(body.state, 'in-progress')
      assert.equal(body['field-0'], `<${MASK.split('').join(' ')}>`)
      assert.equal(record!.request_headers!['X-0'], `<${MASK.split('').join(' ')}>`)
      assert.equal(
        record!.request_headers!['webhook-signature'],
        receiver.arrivals[0]!.headers['webhook-signature'],
      )
      assert.match(streamed, /in-progress/)
    })
  }

  test('is not stored with the status of a commit either', async (t) => {
    const receiver = await openReceiver(t)
    receiver.answer(201, {}, '{}')
    const tree = await openTree(receiver.url)
    await db
      .updateTable('applications')
      .set({ repository: `${receiver.url}/acme/shop` })
      .where('id', '=', tree.applicationId)
      .execute()
    const context = "{{ credential.access_token | split: '' | join: ' ' }}"
    const made = async (preset: object) => makeHook({ settings: { preset } }, tree)
    const hook = await made({ kind: 'gitea_status', context })
    const plain = await made({ kind: 'gitea_status' })
    const action = await startAction(tree, { commit: 'a'.repeat(40) })
    await move(action, IN_PROGRESS, COMPLETED)
    for (const { id } of [hook, plain]) {
      await world.recorded(id, 3)
      await world.untilIdle(id)
    }
    const spread = TOKEN.split('').join(' ')
    assert.ok(receiver.arrivals.some(({ json }) => json.context === spread))
    assertHidden(await storedOf(hook.id), [TOKEN, spread])
    const checks = await db.selectFrom('status_checks').select('hook_id').execute()
    assert.deepEqual(checks, [{ hook_id: plain.id }])
  })
})

suite('a hidden captured value', () => {
  const KEY = 'k3y-of-the-message'
  const spread = KEY.split('').join('-')
  const open = async (t: Parameters<typeof openReceiver>[0], hook: object, answer: object) => {
    const tree = await createTestTree(db)
    const receiver = await openReceiver(t)
    receiver.answer(200, {}, JSON.stringify(answer))
    const trigger_when = { events: ['action.created', 'action.status_changed'] }
    const made = await makeHook({ target_url: receiver.url, trigger_when, ...hook }, tree)
    return { tree, receiver, hook: made }
  }
  const capture = [{ name: 'key', path: 'key', hidden: true }]

  test('stays hidden in a URL, whatever filters make of it', async (t) => {
    const spelled = "{{ captured.key | split: '' | join: '-' }}"
    const receiver = await openReceiver(t)
    const { tree, hook } = await open(
      t,
      {
        target_url: undefined,
        settings: {
          capture,
          requests: {
            create: { target_url: `${receiver.url}/new` },
            update: {
              target_url: `${receiver.url}/{{ action.id }}/${spelled}?key={{ captured.key | slice: 4, 30 }}#{{ captured | json }}`,
              request_headers: [{ name: 'X-Key', value: spelled }],
              request_body: { text: '{{ captured.key | upcase | slice: 1, 30 }}' },
            },
          },
        },
      },
      {},
    )
    receiver.answer(200, {}, JSON.stringify({ key: KEY }))
    const action = await startAction(tree)
    await world.recorded(hook.id, 1)
    await world.untilIdle(hook.id)
    await move(action, IN_PROGRESS)
    const [, second] = await world.recorded(hook.id, 2)
    await world.untilIdle(hook.id)
    const arrival = receiver.arrivals[1]!
    assert.equal(arrival.path, `/${action}/${spread}?key=${KEY.slice(4)}`)
    assert.equal(arrival.headers['x-key'], spread)
    const secrets = [KEY, spread, KEY.slice(4), KEY.toUpperCase().slice(1)]
    assertHidden(await storedOf(hook.id), secrets)
    assertHidden(await shownOf(hook.id, tree), secrets)
    assertHidden(logged, secrets)
    assert.match(second!.url, new RegExp(`^${receiver.url}/${action}/`))
    assert.deepEqual(JSON.parse(second!.request_body!.toString()), { text: MASK.slice(1) })
  })

  test('that is a number is sent as one; its record has neither headers nor body', async (t) => {
    const number = { name: 'key', path: 'key', type: 'integer', hidden: true }
    const { tree, receiver, hook } = await open(
      t,
      {
        settings: {
          capture: [number],
          request_headers: [
            { name: 'X-Key', value: "{{ captured.key | append: '' | split: '' | join: ' ' }}" },
          ],
          request_body: { key: '{{ captured.key | default: 0 | integer }}' },
        },
      },
      { key: 1234567 },
    )
    receiver.behave((_, response, { path }) =>
      response.end(JSON.stringify({ key: path === '/' ? 1234567 : 0 })),
    )
    const stream = await openStream(`${host}/hooks/outgoing/${hook.id}/stream`, tree.owner.token, {})
    await stream.until((events) => events.length >= 1)
    const action = await startAction(tree)
    await world.recorded(hook.id, 1)
    await world.untilIdle(hook.id)
    await move(action, IN_PROGRESS)
    const [first, second] = await world.recorded(hook.id, 2)
    await world.untilIdle(hook.id)
    assert.deepEqual(
      receiver.arrivals.map(({ json }) => json.key),
      [0, 1234567],
    )
    assert.deepEqual(JSON.parse(first!.request_body!.toString()), { key: 0 })
    assert.deepEqual(
      [second!.outcome, second!.url, second!.request_headers, second!.request_body, second!.response_body],
      ['delivered', receiver.url, null, null, null],
    )
    await move(action, COMPLETED)
    await world.recorded(hook.id, 3)
    assertHidden(JSON.stringify(stream.events) + (await storedOf(hook.id)), ['1234567', '1 2 3 4 5 6 7'])
    await stream.cut()
  })
})

suite('the answer to a request with a secret', () => {
  const spread = TOKEN.split('').join(' ')
  const settings = {
    request_body: { token: "{{ application.source_provider.access_token | split: '' | join: ' ' }}" },
  }
  const echo = async (t: Parameters<typeof openReceiver>[0], hook: object, ofProvider: boolean) => {
    const receiver = await openReceiver(t)
    receiver.behave((_, response, { json }) => {
      response.setHeader('x-echo', json?.token ?? 'nothing')
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify({ you_said: json, plain: ofProvider ? TOKEN : spread }))
    })
    const tree = await openTree(ofProvider ? receiver.url : 'https://gitea.example')
    const made = await makeHook({ target_url: receiver.url, ...hook }, tree)
    await move(await startAction(tree), IN_PROGRESS)
    const [record] = await world.recorded(made.id, 1)
    await world.untilIdle(made.id)
    return { record: record!, hook: made, tree }
  }

  test('is not stored if it does not come from the provider of the credential', async (t) => {
    const { record, hook, tree } = await echo(t, { settings }, false)
    assert.deepEqual([record.outcome, record.response_status_code], ['delivered', 200])
    assert.equal(record.response_body, null)
    assert.equal(record.response_headers!['content-type'], 'application/json')
    assert.equal(record.response_headers!['x-echo'], MASK)
    assertHidden((await storedOf(hook.id)) + (await shownOf(hook.id, tree)), [TOKEN, spread])
  })

  test('is stored, masked, if it does', async (t) => {
    const body = { token: '{{ credential.access_token }}' }
    const { record } = await echo(t, { settings: { request_body: body } }, true)
    assert.deepEqual(JSON.parse(record.response_body!.toString()), {
      you_said: { token: MASK },
      plain: MASK,
    })
    assert.equal(record.response_headers!['x-echo'], MASK)
  })

  test('is stored if the request has none', async (t) => {
    const { record } = await echo(t, { settings: { request_body: { token: 'none' } } }, false)
    assert.equal(JSON.parse(record.response_body!.toString()).you_said.token, 'none')
    assert.equal(record.response_headers!['x-echo'], 'none')
  })
})
