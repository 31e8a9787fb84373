// Following one action, over real connections, at two processes on one database.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { sql } from 'kysely'
import type { Database } from '#platform/database/connect.ts'
import { openTestApp } from '#test/support/harness.ts'
import {
  createReader,
  createRun,
  listen,
  logsIn,
  openStream,
  type Received,
  type TestRun,
  tale,
} from '#test/support/streams.ts'
import {
  createAccessToken,
  createMember,
  createPerson,
  createTestTree,
  grantRole,
} from '#test/support/world.ts'

// No polling: these tests rely on notifications alone.
const LIVE = { pollMs: 600_000, recheckMs: 50, batchMs: 0 }
const first = await openTestApp({ after }, { live: LIVE })
const second = await openTestApp({ after }, { live: LIVE, beside: first })
const { db, request } = first
const tree = await createTestTree(db)
const { token } = tree.owner
const hosts = [await listen(first), await listen(second)]

const addressOf = ({ actionId }: Pick<TestRun, 'actionId'>) => `/actions/${actionId}/stream`
const follow = (
  run: Pick<TestRun, 'actionId'>,
  more: { lastEventId?: string; host?: number; token?: string } = {},
) => openStream(hosts[more.host ?? 0]! + addressOf(run), more.token ?? token, more)
const isOver = (events: Received[]) => events.at(-1)?.type === 'end'

/** One target does one step. */
async function doStep(run: TestRun, target: number, order: number, texts: string[]): Promise<void> {
  await run.moveStep(target, order, 'in-progress')
  for (const text of texts) await run.print(target, order, text)
  await run.moveStep(target, order, 'completed')
}

/** Two targets, two steps each. */
async function runThrough(run: TestRun): Promise<void> {
  await run.move('in-progress')
  for (const target of [0, 1]) {
    await run.moveTarget(target, 'in-progress')
    for (const order of [1, 2])
      await doStep(run, target, order, [`${target}.${order} größer\n`, 'two\n', '🙂\n'])
    await run.moveTarget(target, 'completed')
  }
  await run.move('completed')
}

/** Everything about an ended action after an id. */
async function readRest(run: TestRun, lastEventId = '', app = first): Promise<Received[]> {
  const headers = { accept: 'text/event-stream', 'last-event-id': lastEventId }
  const { text } = await app.request('GET', addressOf(run), { token, headers })
  const reader = createReader()
  reader.read(text)
  return reader.events
}

suite('following an action', () => {
  test('past events arrive in order, then the end, and the stream closes', async () => {
    const run = await createRun(db, tree)
    await runThrough(run)
    const stream = await follow(run)
    assert.equal(stream.status, 200)
    assert.match(stream.headers.get('content-type')!, /^text\/event-stream/)
    assert.equal(stream.headers.get('cache-control'), 'no-store')
    assert.equal(stream.headers.get('x-accel-buffering'), 'no')
    assert.ok(stream.headers.get('x-request-id'))
    assert.equal(await stream.over, 'ended')

    const [one, two] = run.targetIds
    const steps = (target: number) =>
      [1, 2].flatMap((order) => [
        `step ${target} ${order} in-progress`,
        `log ${target} ${order}`,
        `step ${target} ${order} completed`,
      ])
    const ofTarget = (target: number) => [
      `target ${target} in-progress`,
      ...steps(target),
      `target ${target} completed`,
    ]
    assert.deepEqual(
      stream.events.map(({ type, data }) =>
        [type, data.target_id, data.step_order, data.status].filter((part) => part !== undefined).join(' '),
      ),
      [
        'action queued',
        'action in-progress',
        ...ofTarget(one!),
        ...ofTarget(two!),
        'action completed',
        'end completed',
      ],
    )
    assert.deepEqual(logsIn(stream.events)[`${one} 2`], '0.2 größer\ntwo\n🙂\n')
    const [created, started] = stream.events
    assert.equal(created!.data.previous_status, null)
    assert.equal(started!.data.previous_status, 'queued')
    assert.equal(started!.data.status_reason_human_readable, 'In progress')
  })

  test('the data of every event matches the OpenAPI document', async () => {
    const run = await createRun(db, tree)
    await runThrough(run)
    const { body: document } = await request('GET', '/openapi.json')
    const ajv = new Ajv2020({ strict: false })
    addFormats.default(ajv)
    ajv.addSchema(document, 'openapi')
    const names = {
      action: 'ActionMove',
      target: 'TargetMove',
      step: 'StepMove',
      log: 'LogText',
      end: 'StreamEnd',
    }
    const described = document.paths['/actions/{id}/stream'].get.responses['200'].content['text/event-stream']
    assert.deepEqual(
      described.schema.anyOf.map((one: { $ref: string }) => one.$ref),
      Object.values(names).map((name) => `#/components/schemas/${name}`),
    )
    for (const { type, data } of await readRest(run)) {
      const name = names[type as keyof typeof names]
      assert.ok(ajv.validate(`openapi#/components/schemas/${name}`, data), `${type}: ${ajv.errorsText()}`)
    }
  })

  test('events arrive as they happen, at every process', async () => {
    const run = await createRun(db, tree)
    const streams = await Promise.all([follow(run), follow(run, { host: 1 })])
    for (const stream of streams) await stream.until((events) => events.length === 1)
    await run.move('in-progress')
    await run.moveTarget(0, 'in-progress')
    await run.moveStep(0, 1, 'in-progress')
    for (const stream of streams) await stream.until((events) => events.length === 4)
    for (const text of ['one\n', 'zwölf\n']) {
      await run.print(0, 1, text)
      for (const stream of streams) await stream.until((events) => events.at(-1)!.data.text === text)
    }
    await run.moveStep(0, 1, 'completed')
    for (const target of [0, 1]) await run.moveTarget(target, target === 0 ? 'completed' : 'skipped')
    await run.move('failed')
    for (const stream of streams) {
      assert.equal(await stream.over, 'ended')
      assert.deepEqual(tale(stream.events), tale(streams[0]!.events))
      assert.deepEqual(logsIn(stream.events), { [`${run.targetIds[0]} 1`]: 'one\nzwölf\n' })
      assert.equal(stream.events.at(-1)!.data.status, 'failed')
    }
  })

  test('reconnecting after any event, at any process, resumes exactly there', async () => {
    const run = await createRun(db, tree)
    await runThrough(run)
    const all = await readRest(run)
    assert.equal(all.length, 20)
    for (const [index, { id, type }] of all.entries()) {
      const rest = await readRest(run, id, index % 2 === 0 ? first : second)
      assert.deepEqual(tale(rest), tale(all.slice(index + 1)), `after ${index}: ${type}`)
    }
  })

  test('with disconnects at any time and across processes no text is lost or repeated', async () => {
    const run = await createRun(db, tree)
    const lines = Array.from({ length: 60 }, (_, index) => `Zeile ${index} 🙂\n`)
    const working = (async () => {
      await run.move('in-progress')
      for (const target of [0, 1]) await run.moveTarget(target, 'in-progress')
      await Promise.all(
        [0, 1].map(async (target) => {
          await doStep(run, target, 1, lines)
          await doStep(run, target, 2, lines)
          await run.moveTarget(target, 'completed')
        }),
      )
      await run.move('completed')
    })()
    const received: Received[] = []
    for (let turn = 0; !isOver(received); turn++) {
      const lastEventId = received.at(-1)?.id
      const stream = await follow(run, { host: turn % 2, lastEventId })
      const wanted = 1 + (turn % 7)
      await stream.until((events) => events.length >= wanted || isOver(events))
      await stream.cut()
      received.push(...stream.events)
    }
    await working
    const text = lines.join('')
    const [one, two] = run.targetIds
    assert.deepEqual(logsIn(received), {
      [`${one} 1`]: text,
      [`${one} 2`]: text,
      [`${two} 1`]: text,
      [`${two} 2`]: text,
    })
    const moves = received.filter(({ type }) => type !== 'log' && type !== 'end')
    assert.equal(moves.length, 15)
    assert.equal(new Set(moves.map(({ type, data }) => JSON.stringify([type, data]))).size, 15)
  })

  test('moves that commit out of order all arrive', async () => {
    const run = await createRun(db, tree)
    const stream = await follow(run)
    await db.transaction().execute(async (trx) => {
      await run.moveTarget(0, 'in-progress', trx as Database)
      await run.moveTarget(1, 'in-progress')
      await stream.until((events) => events.some(({ data }) => data.target_id === run.targetIds[1]))
    })
    await stream.until((events) => events.some(({ data }) => data.target_id === run.targetIds[0]))
    await stream.cut()
    const back = await follow(run, { host: 1, lastEventId: stream.events[1]!.id })
    await back.until((events) => events.length > 0)
    assert.deepEqual(tale(back.events), tale(stream.events.slice(2)))
    await back.cut()
  })

  test('a step that another worker repeats continues its log', async () => {
    const run = await createRun(db, tree)
    await run.moveTarget(0, 'in-progress')
    await doStep(run, 0, 1, ['first try\n'])
    await run.moveStep(0, 2, 'in-progress')
    const stream = await follow(run)
    await stream.until((events) => events.length === 6)
    await run.moveStep(0, 2, 'pending')
    await doStep(run, 0, 1, ['second try\n'])
    await stream.until((events) => events.length === 10)
    assert.equal(logsIn(stream.events)[`${run.targetIds[0]} 1`], 'first try\nsecond try\n')
    await stream.cut()
    const back = await follow(run, { lastEventId: stream.events.at(-3)!.id })
    await back.until((events) => events.length === 2)
    assert.deepEqual(tale(back.events), tale(stream.events.slice(-2)))
    await back.cut()
  })

  test('the stream of an action without moves waits for one', async () => {
    const run = await createRun(db, { ...tree, serverIds: [] })
    await sql`delete from events where action_id = ${run.actionId}`.execute(db)
    const stream = await follow(run)
    await run.move('in-progress')
    await stream.until((events) => events.length === 1)
    await run.move('failed')
    assert.equal(await stream.over, 'ended')
    assert.deepEqual(
      stream.events.map(({ type }) => type),
      ['action', 'action', 'end'],
    )
  })

  test('with many targets every id stays short, and everything arrives once', async () => {
    const count = 130
    const { rows } = await sql<{ id: number }>`
      insert into servers (environment_id, name, provider_code, host, port, login_name, root_directory, created_by)
      select ${tree.environmentId}, 'many-' || number, 'ssh', 'h', 22, 'deploy', '/srv', ${tree.owner.id}
      from generate_series(1, ${count}::int) as number returning id`.execute(db)
    const run = await createRun(db, { ...tree, serverIds: rows.map(({ id }) => id) })
    await run.move('in-progress')
    const targets = run.targetIds.map((_, index) => index)
    for (const target of targets) {
      await run.moveTarget(target, 'in-progress')
      await run.moveStep(target, 1, 'in-progress')
      await run.print(target, 1, `at ${target}\n`)
    }
    const stream = await follow(run)
    // As many as there is room for are shown; the others wait for these to end.
    await stream.until((events) => events.length >= 2 + 86 * 3)
    await run.print(0, 1, 'more\n')
    await stream.until((events) => events.at(-1)!.data.text === 'more\n')
    assert.equal(stream.events.length, 2 + 86 * 3 + 1)
    await stream.cut()
    const back = await follow(run, { host: 1, lastEventId: stream.events.at(-1)!.id })
    for (const target of targets) {
      await run.moveStep(target, 1, 'completed')
      await run.moveTarget(target, 'completed')
    }
    await run.move('completed')
    assert.equal(await back.over, 'ended')
    const all = [...stream.events, ...back.events]
    assert.ok(Math.max(...all.map(({ id }) => id.length)) < 6_100)
    assert.equal(all.length, 3 + count * 5 + 1 + 1)
    assert.equal(new Set(tale(all).map((one) => JSON.stringify(one))).size, all.length)
    const logs = logsIn(all)
    for (const target of targets) {
      const more = target === 0 ? 'more\n' : ''
      assert.equal(logs[`${run.targetIds[target]} 1`], `at ${target}\n${more}`)
    }
  })

  test('streams of the same action share their reads', async () => {
    const run = await createRun(db, tree)
    await run.moveTarget(0, 'in-progress')
    const streams = await Promise.all(Array.from({ length: 20 }, () => follow(run)))
    for (const stream of streams) await stream.until((events) => events.length === 2)
    first.statements.length = 0
    await run.print(0, 1, 'for all\n')
    for (const stream of streams) await stream.until((events) => events.at(-1)!.type === 'log')
    const reads = first.statements.filter(
      (text) => text.includes('string_agg') && text.includes('step_log_chunks'),
    )
    assert.ok(reads.length <= 3, `${reads.length} reads for ${streams.length} streams`)
    for (const stream of streams) await stream.cut()
  })
})

suite('permissions', () => {
  const statusOf = async (url: string, more: { token?: string; headers?: Record<string, string> }) =>
    (await request('GET', url, { ...more, headers: { accept: 'text/event-stream', ...more.headers } })).status

  test('a stream requires action:view in the environment of the action', async () => {
    const run = await createRun(db, tree)
    await run.move('failed')
    const url = addressOf(run)
    assert.equal(await statusOf(url, {}), 401)
    assert.equal(await statusOf(url, { token: (await createPerson(db)).token }), 404)
    assert.equal(await statusOf(url, { token: (await createTestTree(db)).owner.token }), 404)
    assert.equal(await statusOf(url, { token: (await createMember(db, tree, 'viewer')).token }), 200)
    assert.equal(await statusOf('/actions/999999999/stream', { token }), 404)
    assert.equal(await statusOf('/actions/0/stream', { token }), 422)
    assert.equal(await statusOf(`${url}?token=${token}`, {}), 401)
  })

  test('a request that does not accept event streams gets 406', async () => {
    const run = await createRun(db, tree)
    for (const accept of ['', '*/*', 'text/*', 'application/json', 'text/event-stream;q=0']) {
      assert.equal(await statusOf(addressOf(run), { token, headers: { accept } }), 406, accept)
      assert.equal(await statusOf('/actions/stream', { token, headers: { accept } }), 406, accept)
    }
    await run.move('failed')
    const headers = { accept: 'text/html, text/event-stream; charset=utf-8, */*;q=0.1' }
    assert.equal(await statusOf(addressOf(run), { token, headers }), 200)
  })

  test('HEAD returns the headers of GET, and ends immediately', async () => {
    const run = await createRun(db, tree)
    for (const url of [addressOf(run), '/actions/stream']) {
      const { status, headers, text } = await request('HEAD', url, {
        token,
        headers: { accept: 'text/event-stream' },
      })
      assert.deepEqual([status, text], [200, ''])
      assert.match(headers['content-type']!, /^text\/event-stream/)
    }
  })

  test('after the end there is nothing to resume', async () => {
    const run = await createRun(db, tree)
    await run.move('failed')
    const { id } = (await readRest(run)).at(-1)!
    assert.equal(await statusOf(addressOf(run), { token, headers: { 'last-event-id': id } }), 204)
  })

  test('an id of another stream is rejected, not ignored', async () => {
    const run = await createRun(db, tree)
    const other = await createRun(db, tree)
    await other.move('failed')
    const foreign = (await readRest(other))[0]!.id
    for (const id of ['x', '1', '-1~1', `${foreign}~`, foreign, '1~1~1:9.9.9', 'a'.repeat(9_000)]) {
      const headers = { accept: 'text/event-stream', 'last-event-id': id }
      const { status, body } = await request('GET', addressOf(run), { token, headers })
      assert.equal(status, 422, id.slice(0, 40))
      assert.deepEqual(Object.keys(body.errors), ['last-event-id'])
    }
  })

  test('a forged id does no harm', async () => {
    const run = await createRun(db, tree)
    await run.moveTarget(0, 'in-progress')
    await run.print(0, 1, 'text')
    await run.move('failed')
    const action = run.actionId.toString(36)
    for (const parts of [
      'zzzzzzzz',
      '0~1-zzzzzzzz',
      '0~1:0.1.zzzzzzzz~zz:1',
      '0~1:zzzzzzzz.3',
      '0~1:0.2~2',
    ]) {
      assert.equal((await readRest(run, `${action}~${parts}`)).at(-1)?.type, 'end', parts)
    }
  })

  test('a stream closes when its token is revoked, its permission is removed, or its account is closed', async () => {
    const run = await createRun(db, tree)
    const ends: ((userId: number) => Promise<unknown>)[] = [
      (userId) =>
        db.updateTable('tokens').set({ revoked_at: new Date() }).where('user_id', '=', userId).execute(),
      (userId) => db.deleteFrom('grants').where('user_id', '=', userId).execute(),
      (userId) => db.updateTable('users').set({ active: false }).where('id', '=', userId).execute(),
    ]
    for (const end of ends) {
      const user = await createMember(db, tree, 'viewer')
      const stream = await follow(run, { token: user.token })
      await stream.until((events) => events.length === 1)
      await end(user.id)
      assert.equal(await stream.over, 'ended')
      assert.notEqual(await statusOf(addressOf(run), { token: user.token }), 200)
    }
  })

  test('an expired token ends its stream, other tokens of the same user do not', async () => {
    const run = await createRun(db, tree)
    const user = await createPerson(db)
    const { organizationId, projectId, environmentId } = tree
    await grantRole(db, user.id, 'viewer', { organizationId, projectId, environmentId })
    const short = await follow(run, {
      token: await createAccessToken(db, user.id, new Date(Date.now() + 1_000)),
    })
    const long = await follow(run, { token: user.token })
    assert.equal(await short.over, 'ended')
    await run.move('in-progress')
    await long.until((events) => events.length === 2)
    await long.cut()
  })
})
