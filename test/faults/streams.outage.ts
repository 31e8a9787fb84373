// Streams when something fails: too many, too slow, no database, no notifications, no service.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { after, suite, test } from 'node:test'
import { sql } from 'kysely'
import pg from 'pg'
import { administer } from '#test/support/database.ts'
import { openTestApp } from '#test/support/harness.ts'
import { createReader, createRun, listen, logsIn, openStream, type TestRun } from '#test/support/streams.ts'
import { createAction, createMember, createPerson, createTestTree } from '#test/support/world.ts'

const MIB = 2 ** 20

const first = await openTestApp({ after })
const { db } = first
const tree = await createTestTree(db)
const { token } = tree.owner
const bare = { ...tree, serverIds: [] }

const addressOf = ({ actionId }: Pick<TestRun, 'actionId'>) => `/actions/${actionId}/stream`

async function openHost(more: Parameters<typeof openTestApp>[1]) {
  const app = await openTestApp({ after }, { beside: first, ...more })
  return { ...app, host: await listen(app) }
}

/** A receiver that reads nothing until it is asked to. */
async function openIdle(url: string): Promise<IncomingMessage> {
  const request = get(url, {
    headers: { authorization: `Bearer ${token}`, accept: 'text/event-stream' },
    agent: false,
  })
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  response.on('error', () => {})
  return response
}

/** More than all buffers on the way hold. */
const LOG_BYTES = 24 * MIB
const CHUNK = `${'x'.repeat(1_023)}\n`.repeat(64)

async function createLoudAction(): Promise<number> {
  const actionId = await createAction(db, { ...tree, serverIds: tree.serverIds.slice(0, 1) })
  await sql`
    insert into step_log_chunks (target_id, step_order, start_offset, attempt, text, bytes)
    select targets.id, 1, number * ${CHUNK.length}::bigint, 1, ${CHUNK}, ${CHUNK.length}
    from targets, generate_series(0, ${LOG_BYTES / CHUNK.length - 1}::int) as number
    where action_id = ${actionId}`.execute(db)
  return actionId
}

/** Reads a whole stream, which takes longer than filling the buffers of an idle receiver. Returns the pages read meanwhile. */
async function readToEnd(url: string, statements: string[]): Promise<number> {
  statements.length = 0
  const stream = await openStream(url, token)
  assert.equal(await stream.over, 'ended')
  return statements.filter((text) => text.includes('string_agg')).length
}

suite('limits', () => {
  test('the number of streams is limited per user and per process', async () => {
    const { host, app } = await openHost({ live: { maxPerUser: 2, maxStreams: 3, heartbeatMs: 600_000 } })
    const user = await createMember(db, tree, 'viewer')
    const url = `${host}/actions/stream`
    const connected = once(app.server, 'connection')
    const streams = [await openStream(url, token), await openStream(url, token)]
    const [socket] = (await connected) as [Socket]
    const refused = await openStream(url, token)
    assert.equal(refused.status, 429)
    assert.ok(Number(refused.headers.get('retry-after')) > 0)
    streams.push(await openStream(url, user.token))
    const full = await openStream(`${host}${addressOf(await createRun(db, bare))}`, user.token)
    assert.equal(full.status, 503)
    assert.ok(Number(full.headers.get('retry-after')) > 0)

    // Not `once` of node:events, which rejects when the client resets the connection.
    const freed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
    await streams[0]!.cut()
    await freed
    const again = await openStream(url, user.token)
    assert.equal(again.status, 200)
    streams.push(again)
    for (const stream of streams) await stream.cut()
  })

  test('a quiet stream sends heartbeats, and a stream of all actions its position with them', async () => {
    const { host } = await openHost({ live: { heartbeatMs: 20 } })
    const run = await createRun(db, bare)
    const one = await openStream(host + addressOf(run), token)
    await one.until(() => one.comments() > 3)
    assert.equal(one.events.length, 1)
    const all = await openStream(`${host}/actions/stream?filter[status]=skipped`, token)
    await all.until((events) => events.length === 1)
    const position = all.lastId()
    await run.move('in-progress')
    await all.until(() => all.lastId() !== position)
    assert.equal(all.events.length, 1)
    for (const stream of [one, all]) await stream.cut()
  })

  test('the stream sets the reconnection delay of browsers', async () => {
    const run = await createRun(db, bare)
    await run.move('failed')
    const headers = { accept: 'text/event-stream' }
    const { text } = await first.request('GET', addressOf(run), { token, headers })
    assert.match(text, /^retry: 2000\n\n/)
    const reader = createReader()
    reader.read(text)
    assert.deepEqual([reader.retry, reader.events.length], [2_000, 3])
  })
})

suite('slow receivers', () => {
  test('pages are read only as fast as the receiver reads, and everything arrives in the end', async () => {
    const { host, statements } = await openHost({})
    const url = host + addressOf({ actionId: await createLoudAction() })
    const pages = await readToEnd(url, statements)
    const response = await openIdle(url)
    const idlePages = (await readToEnd(url, statements)) - pages
    assert.ok(idlePages < pages * 0.75, `${idlePages} of ${pages} pages were read for an idle receiver`)
    const reader = createReader()
    response.setEncoding('utf8')
    for await (const text of response) reader.read(text)
    const [log] = Object.values(logsIn(reader.events))
    assert.equal(log!.length, LOG_BYTES)
    assert.ok(log === CHUNK.repeat(LOG_BYTES / CHUNK.length))
    assert.equal(reader.events.at(-1)!.type, 'end')
  })

  test('a receiver that stalls for too long is disconnected, and can resume where it was', async () => {
    const { host, app } = await openHost({ live: { stallMs: 200 } })
    const url = host + addressOf({ actionId: await createLoudAction() })
    const connected = once(app.server, 'connection')
    const response = await openIdle(url)
    const [socket] = (await connected) as [Socket]
    if (!socket.closed) await once(socket, 'close')
    const reader = createReader()
    response.setEncoding('utf8')
    await (async () => {
      for await (const text of response) reader.read(text)
    })().catch(() => {})
    assert.notEqual(reader.events.at(-1)?.type, 'end')
    const back = await openStream(url, token, { lastEventId: reader.lastId })
    assert.equal(await back.over, 'ended')
    const [log] = Object.values(logsIn(back.events, logsIn(reader.events)))
    assert.equal(log!.length, LOG_BYTES)
  })
})

suite('failures', () => {
  test('streams stay open while the database is away, and continue when it is back', async () => {
    // A separate database, because it goes away.
    const away = await openTestApp(
      { after },
      { live: { heartbeatMs: 20, outageRetryMs: 50, pollMs: 50, recheckMs: 50 } },
    )
    const host = await listen(away)
    const there = await createTestTree(away.db)
    const run = await createRun(away.db, there)
    const one = await openStream(host + addressOf(run), there.owner.token)
    const all = await openStream(`${host}/actions/stream`, there.owner.token)
    for (const stream of [one, all]) await stream.until((events) => events.length === 1)

    // A connection from before still works.
    const worker = new pg.Client(away.settings)
    await worker.connect()
    const { rows } = await worker.query('select pg_backend_pid() as pid, current_database() as name')
    const { pid, name } = rows[0]
    await administer(`alter database ${name} allow_connections false`)
    await administer(
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}' and pid <> ${pid}`,
    )
    const comments = one.comments()
    await one.until(() => one.comments() > comments + 3)
    await worker.query(`update actions set status = 'in-progress', status_reason_code = 'IN_PROGRESS', started_at = now()
      where id = ${run.actionId}`)
    await worker.query(`insert into events (action_id, previous_status, status, status_reason_code)
      values (${run.actionId}, 'queued', 'in-progress', 'IN_PROGRESS')`)
    await worker.query(`insert into step_log_chunks (target_id, step_order, start_offset, attempt, text, bytes)
      values (${run.targetIds[0]}, 1, 0, 1, 'meanwhile', 9)`)
    await worker.query(`update targets set status = 'in-progress', status_reason_code = 'IN_PROGRESS', started_at = now()
      where action_id = ${run.actionId}`)
    await administer(`alter database ${name} allow_connections true`)

    await one.until((events) => events.length === 3)
    assert.deepEqual(logsIn(one.events), { [`${run.targetIds[0]} 1`]: 'meanwhile' })
    await all.until((events) => events.length === 2)
    assert.equal(all.events[1]!.data.status, 'in-progress')
    await worker.query('update tokens set revoked_at = now()')
    await worker.end()
    for (const stream of [one, all]) assert.equal(await stream.over, 'ended')
  })

  test('notifications sent while the process cannot listen are caught up on reconnect', async () => {
    const { host, settings } = await openHost({ live: { pollMs: 600_000 } })
    const run = await createRun(db, bare)
    const streams = [
      await openStream(host + addressOf(run), token),
      await openStream(`${host}/actions/stream?filter[status]=failed`, token),
    ]
    for (const stream of streams) await stream.until((events) => events.length === 1)
    await sql`select pg_terminate_backend(pid) from pg_stat_activity
      where application_name = 'gantry listener' and datname = ${String(settings.database)}`.execute(db)
    await run.move('failed')
    await streams[0]!.until((events) => events.length === 3)
    await streams[1]!.until((events) => events.length === 2)
    await streams[1]!.cut()
  })

  test('changes without a notification are found by polling', async () => {
    const { host } = await openHost({ live: { pollMs: 50 } })
    const run = await createRun(db, bare)
    const streams = [
      await openStream(host + addressOf(run), token),
      await openStream(`${host}/actions/stream`, token),
    ]
    for (const stream of streams) await stream.until((events) => events.length === 1)
    await sql`insert into events (action_id, previous_status, status, status_reason_code)
      values (${run.actionId}, 'queued', 'waiting', 'WAITING_CONCURRENCY_PIPELINE')`.execute(db)
    for (const stream of streams) {
      await stream.until((events) => events.length === 2)
      await stream.cut()
    }
  })

  test('when the service stops, streams end immediately, even those that nobody reads', async () => {
    const { host, app, statements } = await openHost({})
    const run = await createRun(db, bare)
    const streams = await Promise.all([
      openStream(host + addressOf(run), token),
      openStream(`${host}/actions/stream`, token),
      openStream(`${host}/actions/stream`, (await createPerson(db)).token),
    ])
    const url = host + addressOf({ actionId: await createLoudAction() })
    const idle = await openIdle(url)
    await readToEnd(url, statements)
    const startedAt = performance.now()
    await app.close()
    assert.ok(performance.now() - startedAt < 5_000, 'stopping does not wait for receivers')
    for (const stream of streams) assert.equal(await stream.over, 'ended')
    idle.destroy()
    await assert.rejects(openStream(`${host}/actions/stream`, token))
  })
})
