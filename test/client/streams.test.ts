// The client follows runs over real connections, which a proxy breaks.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { type ActionEvent, createGantry, GantryError, UnreachableError } from '#client/index.ts'
import { openTestApp } from '#test/support/harness.ts'
import { createRun, listen, logsIn, tale } from '#test/support/streams.ts'
import { until } from '#test/support/until.ts'
import { createAccessToken, createTestTree } from '#test/support/world.ts'
import { openProxy } from './proxy.ts'

const LIVE = { pollMs: 600_000, recheckMs: 50, batchMs: 0, heartbeatMs: 50, retryMs: 1 }
const service = await openTestApp({ after }, { live: LIVE })
const { db } = service
const tree = await createTestTree(db)
const { token } = tree.owner
const url = await listen(service)
const gantry = createGantry({ url, token })

/** All items; fails when there is one more than `most`. */
async function collect<One>(items: AsyncIterable<One>, most = 1_000): Promise<One[]> {
  const all: One[] = []
  for await (const item of items) {
    all.push(item)
    assert.ok(all.length <= most, 'the stream goes on and on')
  }
  return all
}

async function first<One>(items: AsyncGenerator<One, void>, holds: (item: One) => boolean): Promise<One> {
  for await (const item of items) if (holds(item)) return item
  return assert.fail('the stream ended')
}

async function runThrough(run: Awaited<ReturnType<typeof createRun>>): Promise<void> {
  await run.move('in-progress')
  for (const target of [0, 1]) {
    await run.moveTarget(target, 'in-progress')
    await run.moveStep(target, 1, 'in-progress')
    for (const text of ['größer\n', 'two\n', '🙂\n']) await run.print(target, 1, text)
    await run.moveStep(target, 1, 'completed')
    await run.moveTarget(target, 'completed')
  }
  await run.move('completed')
}

suite('following an action', () => {
  test('every event arrives once, however often the connection is cut', async (t) => {
    const proxy = await openProxy(t, url)
    const run = await createRun(db, tree)
    const lost: Error[] = []
    let connections = 0
    const remote = createGantry({ url: proxy.url, token })
    proxy.cutAfter(1_500)
    const following = collect(
      remote.followAction(run.actionId, {
        onConnect: () => {
          connections += 1
        },
        onReconnect: ({ error }) => lost.push(error),
      }),
    )
    await runThrough(run)
    const events = await following
    proxy.cutAfter(Number.POSITIVE_INFINITY)
    assert.ok(lost.length >= 3, `only ${lost.length} connections were lost`)
    assert.equal(connections, lost.length + 1)
    assert.ok(lost.every((error) => error instanceof UnreachableError))
    assert.deepEqual(tale(events), tale(await collect(gantry.followAction(run.actionId))))
    const text = 'größer\ntwo\n🙂\n'
    assert.deepEqual(Object.values(logsIn(events)), [text, text])
    assert.equal(events.at(-1)?.type, 'end')
  })

  test('it resumes after a known event, and has nothing to say after the last one', async () => {
    const run = await createRun(db, tree)
    await runThrough(run)
    const events = await collect(gantry.followAction(run.actionId))
    const rest = await collect(gantry.followAction(run.actionId, { after: events[4]!.id }))
    assert.deepEqual(tale(rest), tale(events.slice(5)))
    assert.deepEqual(await collect(gantry.followAction(run.actionId, { after: events.at(-1)!.id })), [])
  })

  test('a connection that falls silent is replaced', async (t) => {
    const proxy = await openProxy(t, url)
    const run = await createRun(db, tree)
    const remote = createGantry({ url: proxy.url, token })
    const problems: string[] = []
    const options = {
      silenceMs: 1_000,
      onReconnect: ({ error }: { error: Error }) => problems.push(error.message),
    }
    const events = remote.followAction(run.actionId, options)
    assert.equal((await events.next()).value?.type, 'action')
    proxy.stall()
    const following = collect(events)
    await runThrough(run)
    assert.equal((await following).at(-1)?.type, 'end')
    assert.equal(problems[0], 'The service sent nothing for 1 s.')
  })

  test('quiet is not silence: heartbeats keep a connection', async (t) => {
    const proxy = await openProxy(t, url)
    const run = await createRun(db, tree)
    const remote = createGantry({ url: proxy.url, token })
    const events = remote.followAction(run.actionId, {
      silenceMs: 2_000,
      onReconnect: () => assert.fail('reconnected'),
    })
    await events.next()
    const next = events.next()
    await until('heartbeats of more than two seconds passed', 30_000, () => proxy.chunks() > 50)
    await run.move('in-progress')
    assert.equal(((await next).value as ActionEvent).type, 'action')
    await events.return()
    assert.equal(proxy.connections(), 1)
  })

  test('a revoked token, an unknown action and an unreachable service end it with a typed error', async (t) => {
    const run = await createRun(db, tree)
    const session = await createAccessToken(db, tree.owner.id)
    const events = createGantry({ url, token: session }).followAction(run.actionId)
    await events.next()
    await service.request('POST', '/users/logout', { token: session })
    await assert.rejects(collect(events), (error) => error instanceof GantryError && error.status === 401)

    await assert.rejects(collect(gantry.followAction(999_999)), { name: 'GantryError', code: 'not_found' })

    const proxy = await openProxy(t, url)
    await proxy.close()
    const nowhere = createGantry({ url: proxy.url, token })
    await assert.rejects(collect(nowhere.followAction(run.actionId)), UnreachableError)
  })

  test('a service that stays away is given up after a while', async (t) => {
    const proxy = await openProxy(t, url)
    const run = await createRun(db, tree)
    const events = createGantry({ url: proxy.url, token }).followAction(run.actionId, { giveUpAfterMs: 100 })
    await events.next()
    await proxy.close()
    await assert.rejects(collect(events), UnreachableError)
  })

  test('aborting ends it also after garbage was collected', async () => {
    setFlagsFromString('--expose-gc')
    const collectGarbage = runInNewContext('gc') as () => void
    const aborting = new AbortController()
    // A stream on which nothing happens, not even heartbeats.
    const proxy = await openProxy({ after }, url)
    const quiet = createGantry({ url: proxy.url, token })
    const events = quiet.followActions({ signal: aborting.signal })
    await events.next()
    const next = events.next().then(
      () => 'an event',
      ({ message }: Error) => message,
    )
    proxy.stall()
    for (let times = 0; times < 5; times += 1) {
      await new Promise(setImmediate)
      collectGarbage()
    }
    aborting.abort(new Error('enough'))
    const late = AbortSignal.timeout(5_000)
    const lateness = new Promise<string>((resolve) => {
      late.addEventListener('abort', () => resolve('nothing'))
    })
    assert.equal(await Promise.race([next, lateness]), 'enough')
  })

  test('aborting ends it at once, with the reason', async () => {
    const run = await createRun(db, tree)
    const aborting = new AbortController()
    const events = gantry.followAction(run.actionId, { signal: aborting.signal })
    await events.next()
    const next = events.next()
    aborting.abort(new Error('enough'))
    await assert.rejects(next, { message: 'enough' })
  })

  test('the log of a step ends with the step', async () => {
    const run = await createRun(db, tree)
    const step = { actionId: run.actionId, targetId: run.targetIds[0]!, order: 1 }
    const following = collect(gantry.followLog(step))
    await run.move('in-progress')
    await run.moveTarget(0, 'in-progress')
    await run.moveStep(0, 1, 'in-progress')
    await run.print(0, 1, 'größer\n')
    const { text, offset } = await gantry.readLog(step)
    assert.deepEqual([text, offset], ['größer\n', 9])
    await run.print(0, 1, 'two\n')
    assert.equal((await gantry.readLog(step, { after: offset })).text, 'two\n')
    await run.moveStep(0, 1, 'completed')
    assert.equal((await following).join(''), 'größer\ntwo\n')
  })
})

test('all actions are followed as filtered, across cut connections', async (t) => {
  const proxy = await openProxy(t, url)
  const remote = createGantry({ url: proxy.url, token })
  const query = { 'filter[status]': 'completed' }
  const events = remote.followActions({ query })
  assert.equal((await events.next()).value?.type, 'ready')
  const run = await createRun(db, tree)
  proxy.cut()
  await run.move('in-progress')
  await run.move('completed')
  const isMine = (event: Awaited<ReturnType<typeof events.next>>['value']) =>
    event?.type === 'action' && event.data.action_id === run.actionId
  const event = await first(events, isMine)
  assert.equal(event.type === 'action' && event.data.status, 'completed')
})

suite('waiting for an action', () => {
  test('it resolves with the ended action and reports every change on the way', async () => {
    const run = await createRun(db, tree)
    const statuses: string[] = []
    const reported = new Map<string, () => void>()
    const reports = (status: string) => new Promise<void>((resolve) => reported.set(status, resolve))
    const queued = reports('queued')
    const waiting = gantry.wait(run.actionId, {
      onChange({ status }) {
        statuses.push(status)
        reported.get(status)?.()
      },
    })
    await queued
    const started = reports('in-progress')
    await run.move('in-progress')
    await started
    await run.move('failed')
    assert.equal((await waiting).status, 'failed')
    assert.deepEqual(statuses, ['queued', 'in-progress', 'failed'])
    assert.equal((await gantry.wait(run.actionId)).status, 'failed', 'of one that ended before')
  })

  test('where streams do not get through, it polls', async () => {
    const run = await createRun(db, tree)
    const noStreams = createGantry({
      url,
      token,
      fetch: (request) =>
        request.url.includes('/stream') ? Promise.reject(new TypeError('blocked')) : fetch(request),
    })
    const waiting = noStreams.wait(run.actionId)
    await run.move('in-progress')
    await run.move('completed')
    assert.equal((await waiting).status, 'completed')
  })

  test('it goes on while the service is away for a moment', async (t) => {
    const proxy = await openProxy(t, url)
    const run = await createRun(db, tree)
    const queued = Promise.withResolvers<void>()
    const waiting = createGantry({ url: proxy.url, token }).wait(run.actionId, {
      onChange: () => queued.resolve(),
    })
    await queued.promise
    await proxy.close()
    await run.move('in-progress')
    await run.move('completed')
    await proxy.open()
    assert.equal((await waiting).status, 'completed')
  })

  test('it ends with a TimeoutError in time, with the reason of a signal, with the error of the service', async () => {
    const run = await createRun(db, tree)
    await assert.rejects(gantry.wait(run.actionId, { timeoutMs: 50 }), { name: 'TimeoutError' })
    await assert.rejects(gantry.wait(run.actionId, { signal: AbortSignal.abort(new Error('enough')) }), {
      message: 'enough',
    })
    await assert.rejects(gantry.wait(999_999), { name: 'GantryError', status: 404 })
  })
})
