// Following all actions, over real connections, at two processes on one database.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { sql } from 'kysely'
import { ACTIONS_CHANNEL } from '#model/actions/channel.ts'
import type { Database } from '#platform/database/connect.ts'
import { openTestApp } from '#test/support/harness.ts'
import { createRun, listen, openStream, type Received, tale } from '#test/support/streams.ts'
import {
  addEnvironment,
  createHook,
  createMember,
  createPerson,
  createTestTree,
  grantRole,
} from '#test/support/world.ts'

// No polling: these tests rely on notifications alone.
const LIVE = { pollMs: 600_000, recheckMs: 50, batchMs: 5 }
const first = await openTestApp({ after }, { live: LIVE })
const second = await openTestApp({ after }, { live: LIVE, beside: first })
const { db, request } = first
const tree = await createTestTree(db)
const { token } = tree.owner
const hosts = [await listen(first), await listen(second)]
const bare = { ...tree, serverIds: [] }

type More = { lastEventId?: string; host?: number; token?: string; filter?: string }

async function follow({ host = 0, filter = '', ...more }: More = {}) {
  const stream = await openStream(`${hosts[host]}/actions/stream?${filter}`, more.token ?? token, more)
  assert.equal(stream.status, 200)
  await stream.until((events) => events[0]?.type === 'ready')
  return stream
}

const moves = (events: Received[]) => events.filter(({ type }) => type === 'action')
const statuses = (events: Received[]) => moves(events).map(({ data }) => data.status)
const actionIds = (events: Received[]) => moves(events).map(({ data }) => data.action_id)

/** Actions that are created together, as calls create them. */
async function createActions(trx: Database, count: number): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    with made as (
      insert into actions (environment_id, pipeline_id, type, status, status_reason_code, trigger_type)
      select ${tree.environmentId}, ${tree.pipelineId}, 'deploy', 'queued', 'QUEUED', 'manual'
      from generate_series(1, ${count}::int) returning id
    ), notified as (
      insert into events (action_id, status, status_reason_code) select id, 'queued', 'QUEUED' from made
      returning action_id
    )
    select action_id as id from notified`.execute(trx)
  await sql`select pg_notify(${ACTIONS_CHANNEL}, ${`move ${rows[0]!.id}`})`.execute(trx)
  return rows.map(({ id }) => id)
}

suite('following all actions', () => {
  test('moves arrive as they happen, at every process; earlier ones do not', async () => {
    const earlier = await createRun(db, bare)
    const streams = await Promise.all([follow(), follow({ host: 1 })])
    const run = await createRun(db, bare)
    await run.move('in-progress')
    await earlier.move('failed')
    for (const stream of streams) {
      await stream.until((events) => moves(events).length === 3)
      assert.deepEqual(
        moves(stream.events).map(({ data }) => [data.action_id, data.previous_status, data.status]),
        [
          [run.actionId, null, 'queued'],
          [run.actionId, 'queued', 'in-progress'],
          [earlier.actionId, 'queued', 'failed'],
        ],
      )
      const { environment_id, pipeline_id, status_human_readable } = stream.events.at(-1)!.data
      assert.deepEqual(
        [environment_id, pipeline_id, status_human_readable],
        [tree.environmentId, tree.pipelineId, 'Failed'],
      )
      await stream.cut()
    }
  })

  test('a disconnect before the first move loses nothing', async () => {
    const stream = await follow()
    await stream.cut()
    const run = await createRun(db, bare)
    const back = await follow({ host: 1, lastEventId: stream.lastId() })
    await back.until((events) => actionIds(events).includes(run.actionId))
    assert.equal(moves(back.events).length, 1)
    await back.cut()
  })

  test('only visible actions that match the filters are sent', async () => {
    const other = await createTestTree(db)
    const hookId = await createHook(db, tree, 'incoming')
    const filters: [filter: string, matches: boolean][] = [
      [`filter[organization_id]=${tree.organizationId}`, true],
      [`filter[project_id]=${other.projectId}`, false],
      [`filter[environment_id]=${tree.environmentId},${other.environmentId}`, true],
      [`filter[pipeline_id]=${tree.pipelineId}`, true],
      [`filter[pipeline_id]=${tree.serverPipelineId}`, false],
      ['filter[resource_type]=application', true],
      ['filter[resource_type]=server', false],
      [`filter[resource_id]=${tree.applicationId}`, true],
      ['filter[type]=deploy', true],
      ['filter[operation]=restart', false],
      ['filter[trigger_type]=manual', true],
      ['filter[trigger_type]=hook,retry', false],
      [`filter[hook_id]=${hookId}`, false],
      ['filter[created_after]=2000-01-01', true],
      ['filter[created_after]=2999-01-01', false],
      ['filter[created_before]=2000-01-01', false],
      ['filter[status]=queued', true],
      ['filter[status]=failed', false],
    ]
    const streams = await Promise.all(
      filters.map(async ([filter, matches]) => ({ filter, matches, stream: await follow({ filter }) })),
    )
    const foreign = await createRun(db, { ...other, serverIds: [] })
    const run = await createRun(db, bare)
    // Matches all of them: once it is there, everything before it is.
    const all = await follow()
    const last = await createRun(db, bare)
    await all.until((events) => actionIds(events).includes(last.actionId))
    for (const { filter, matches, stream } of streams) {
      if (matches) await stream.until((events) => actionIds(events).includes(last.actionId))
      assert.equal(actionIds(stream.events).includes(run.actionId), matches, filter)
      assert.equal(actionIds(stream.events).includes(foreign.actionId), false, filter)
      await stream.cut()
    }
    await all.cut()
  })

  test('a status filter matches moves into and out of the status', async () => {
    const stream = await follow({ filter: 'filter[status]=in-progress' })
    const run = await createRun(db, bare)
    await run.move('in-progress')
    await run.move('completed')
    await stream.until((events) => statuses(events).includes('completed'))
    assert.deepEqual(statuses(stream.events), ['in-progress', 'completed'])
    await stream.cut()
  })

  test('moves that commit late, with lower ids, are not lost by a disconnect', async () => {
    const stream = await follow()
    const late = Promise.withResolvers<number>()
    const goOn = Promise.withResolvers<void>()
    const transaction = db.transaction().execute(async (trx) => {
      late.resolve((await createActions(trx as Database, 1))[0]!)
      await goOn.promise
    })
    const lateId = await late.promise
    const early = await createActions(db, 2)
    await stream.until((events) => moves(events).length === 2)
    assert.deepEqual(actionIds(stream.events), early)
    await stream.cut()

    // The other process sees the gap for the first time.
    const before = await follow({ host: 1, lastEventId: stream.lastId() })
    goOn.resolve()
    await transaction
    await before.until((events) => moves(events).length === 1)
    const after = await follow({ host: 1, lastEventId: stream.lastId() })
    await after.until((events) => moves(events).length === 1)
    for (const back of [before, after]) {
      assert.deepEqual(actionIds(back.events), [lateId])
      await back.cut()
    }
  })

  test('with disconnects at any time and commits in any order no move is lost', async () => {
    let stream = await follow()
    const committed: number[] = []
    let isOver = false
    const writers = Array.from({ length: 4 }, async (_, writer) => {
      for (let number = 0; number < 30; number++) {
        const work = db.transaction().execute(async (trx) => {
          const ids = await createActions(trx as Database, 1 + (number % 3))
          await sql`select pg_sleep(random() * 0.01)`.execute(trx)
          if (number % 10 === writer) throw new Error('rolled back')
          return ids
        })
        committed.push(...(await work.catch(() => [])))
      }
    })
    const received: Received[] = []
    const done = Promise.all(writers).then(() => {
      isOver = true
    })
    for (let turn = 1; !isOver || committed.some((id) => !actionIds(received).includes(id)); turn++) {
      await stream.until(
        (events) =>
          moves(events).length > turn % 5 ||
          committed.every((id) => actionIds([...received, ...events]).includes(id)),
      )
      await stream.cut()
      received.push(...moves(stream.events))
      stream = await follow({ host: turn % 2, lastEventId: stream.lastId() })
    }
    await done
    await stream.cut()
    assert.deepEqual(new Set(actionIds(received)), new Set(committed))
    // Positions include the gaps, as long as they are few, so nothing came twice.
    assert.equal(received.length, committed.length)
  })

  test('a client that is further behind than the buffer reads the rest from the database', async () => {
    const forgetful = await openTestApp({ after }, { live: { ...LIVE, bufferedMoves: 5 }, beside: first })
    const host = hosts.push(await listen(forgetful)) - 1
    const stream = await follow({ host })
    const position = stream.lastId()
    const ids = await createActions(db, 1_200)
    await stream.until((events) => moves(events).length === 1_200)
    assert.deepEqual(actionIds(stream.events), ids)
    const back = await follow({ host, lastEventId: position })
    await back.until((events) => moves(events).length === 1_200)
    assert.deepEqual(tale(back.events), tale(stream.events))
    for (const one of [stream, back]) await one.cut()
  })

  test('the process reads moves only while a stream is open', async () => {
    const witness = await follow()
    /** How often the other process reads while something moves. */
    const countReads = async () => {
      second.statements.length = 0
      const run = await createRun(db, bare)
      await witness.until((events) => actionIds(events).includes(run.actionId))
      return second.statements.filter((text) => text.includes('from events')).length
    }
    const stream = await follow({ host: 1 })
    const run = await createRun(db, bare)
    await stream.until((events) => actionIds(events).includes(run.actionId))
    await stream.cut()
    const deadline = Date.now() + 20_000
    while ((await countReads()) > 0) assert.ok(Date.now() < deadline, 'it goes on reading for nobody')
    await witness.cut()
  })
})

suite('visibility', () => {
  test('an environment created later is visible immediately', async () => {
    const stream = await follow()
    const later = await addEnvironment(db, tree.owner.id, tree.projectId, tree.credentialId)
    const run = await createRun(db, { ...later, serverIds: [] })
    await stream.until((events) => actionIds(events).includes(run.actionId))
    await stream.cut()
  })

  test('revoked environments disappear, the others stay', async () => {
    const { organizationId, projectId } = tree
    const later = await addEnvironment(db, tree.owner.id, projectId, tree.credentialId)
    const user = await createPerson(db)
    for (const { environmentId } of [tree, later])
      await grantRole(db, user.id, 'viewer', { organizationId, projectId, environmentId })
    const stream = await follow({ token: user.token })
    const kept = await createRun(db, bare)
    const lost = await createRun(db, { ...later, serverIds: [] })
    await stream.until((events) => moves(events).length === 2)
    await db
      .deleteFrom('grants')
      .where('user_id', '=', user.id)
      .where('environment_id', '=', later.environmentId)
      .execute()
    await lost.move('failed')
    await kept.move('failed')
    await stream.until((events) => moves(events).length === 3)
    assert.deepEqual(actionIds(stream.events), [kept.actionId, lost.actionId, kept.actionId])
    await stream.cut()
  })

  test('a user without permissions gets an empty stream', async () => {
    const stranger = await createPerson(db)
    const stream = await follow({ token: stranger.token })
    const witness = await follow()
    const run = await createRun(db, bare)
    await witness.until((events) => actionIds(events).includes(run.actionId))
    await db
      .updateTable('tokens')
      .set({ revoked_at: new Date() })
      .where('user_id', '=', stranger.id)
      .execute()
    assert.equal(await stream.over, 'ended')
    assert.deepEqual(moves(stream.events), [])
    await witness.cut()
  })

  test('a revoked token closes the stream', async () => {
    const user = await createMember(db, tree, 'viewer')
    const stream = await follow({ token: user.token })
    await request('POST', '/users/logout', { token: user.token })
    assert.equal(await stream.over, 'ended')
  })

  test('without a token it is 401; a wrong filter or position is 422', async () => {
    const statusOf = async (
      query: string,
      headers: Record<string, string> = {},
      sent: string | undefined = token,
    ) =>
      (
        await request('GET', `/actions/stream${query}`, {
          token: sent,
          headers: { accept: 'text/event-stream', ...headers },
        })
      ).status
    const answer = await request('GET', '/actions/stream', { headers: { accept: 'text/event-stream' } })
    assert.equal(answer.status, 401)
    for (const query of ['?filter[status]=x', '?filter[color]=red', '?page=1'])
      assert.equal(await statusOf(query), 422, query)
    for (const id of ['x', '1~1', '5.9', '-1', '9007199254740990', '1.1.1'])
      assert.equal(await statusOf('', { 'last-event-id': id }), 422, id)
  })
})
