// Prefer: wait. Requests that start a run and are answered when it has ended.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { openDatabase } from '#platform/database/connect.ts'
import { assertStarted, type Hook, pathOf } from '#test/support/calls.ts'
import { administer } from '#test/support/database.ts'
import { type Answer, openTestApp } from '#test/support/harness.ts'
import { openRuns, started } from '#test/support/runs.ts'
import { listen } from '#test/support/streams.ts'
import { until } from '#test/support/until.ts'
import { createMember, createTestTree, type TestTree } from '#test/support/world.ts'

// No polling: only notifications wake a wait.
const runs = await openRuns({ after }, { waits: { pollMs: 600_000, maxPerHook: 2 } })
const { api, db, makeHook, call, run, retry, cancel, removeHook, changeHook } = runs
const origin = await listen(api)

const FOREVER = { prefer: 'wait=300' }
const appliedTo = ({ headers }: Answer) => headers['preference-applied']

/** A pipeline that runs any number of actions at once. */
async function freshTree(): Promise<TestTree> {
  const at = await createTestTree(db)
  await runs.setPipeline(at, { max_parallel_actions: 0 })
  return at
}

/** The unfinished actions of a tree, once there are so many. */
function actionsAt(at: TestTree, count = 1): Promise<number[]> {
  return until(`${count} actions are unfinished`, 10_000, async () => {
    const rows = await db
      .selectFrom('actions')
      .select('id')
      .where('environment_id', '=', at.environmentId)
      .where('status', 'not in', ['completed', 'failed', 'skipped'])
      .orderBy('id')
      .execute()
    return rows.length >= count && rows.map(({ id }) => id)
  })
}

async function endAll(at: TestTree, count = 1): Promise<void> {
  for (const id of await actionsAt(at, count)) assert.equal((await cancel(id, { at })).status, 202)
}

/** Well before the time of the wait is up, even on a busy machine. */
async function soon<Result>(what: Promise<Result>): Promise<Result> {
  const began = performance.now()
  const result = await what
  assert.ok(performance.now() - began < 10_000, 'it took long')
  return result
}

suite('a request that waits', () => {
  test('is answered when its run has ended, with the usual status code and body', async () => {
    const at = await freshTree()
    const waiting = run({ trigger_comment: 'wait' }, { at, headers: FOREVER })
    await endAll(at)
    const answer = await soon(waiting)
    const action = await started(waiting)
    assert.equal(appliedTo(answer), 'wait=300')
    assert.deepEqual([action.status, action.status_reason_code], ['failed', 'FAILED_CANCELLED'])
    assert.deepEqual(action, await runs.readAction(action.id, at))

    const again = retry(action.id, { at, headers: FOREVER })
    await endAll(at)
    const { id, retry_of, status } = await started(soon(again))
    assert.deepEqual([retry_of, status], [action.id, 'failed'])
    assert.notEqual(id, action.id)
  })

  test('of a hook learns how the run ended; so does a duplicate', async () => {
    const at = await freshTree()
    const hook = await makeHook({}, at)
    const headers = { ...FOREVER, 'idempotency-key': 'one' }
    const [first, second] = [call(hook, {}, { headers }), call(hook, {}, { headers })]
    await endAll(at)
    const answers = (await soon(Promise.all([first, second]))).sort((one, two) => two.status - one.status)
    assert.deepEqual(
      answers.map(({ status }) => status),
      [202, 200],
    )
    for (const answer of answers) {
      assert.equal(appliedTo(answer), 'wait=300')
      assert.deepEqual(Object.keys(answer.body), [
        'message',
        'action_id',
        'hook_request_id',
        'url_web_permalink',
        'errors',
        'status',
        'status_reason_code',
      ])
      assert.deepEqual([answer.body.status, answer.body.status_reason_code], ['failed', 'FAILED_CANCELLED'])
    }
    const late = await call(hook, {}, { headers })
    assert.deepEqual([late.status, late.body.status, appliedTo(late)], [200, 'failed', 'wait=300'])
  })

  test('is answered with the state so far when the time is up', async () => {
    const at = await freshTree()
    const hook = await makeHook({}, at)
    const [called, ran] = await Promise.all([
      call(hook, {}, { headers: { prefer: 'respond-async, wait="1"' } }),
      run({}, { at, headers: { prefer: 'wait=1' } }),
    ])
    assertStarted(called)
    assert.deepEqual([called.body.status, called.body.status_reason_code], ['queued', 'QUEUED'])
    assert.deepEqual([ran.status, ran.body.status], [201, 'queued'])
    assert.deepEqual([appliedTo(called), appliedTo(ran)], ['wait=1', 'wait=1'])
    await endAll(at, 2)
  })

  test('does not wait without the preference, with one that makes no sense, or when nothing was started', async () => {
    const at = await freshTree()
    const hook = await makeHook({ trigger_when: { conditions: [{ path: 'a', accepted_values: [1] }] } }, at)
    for (const prefer of ['', 'wait', 'wait=0', 'wait=soon', 'return=minimal']) {
      const answers = [
        await call(hook, { a: 1 }, { headers: { prefer } }),
        await run({}, { at, headers: { prefer } }),
      ]
      for (const answer of answers) assert.equal(appliedTo(answer), undefined, prefer)
      assert.ok(!('status' in answers[0]!.body))
      assert.equal(answers[1]!.body.status, 'queued')
    }
    for (const [payload, more] of [
      [{ a: 2 }, {}],
      [{ a: 1 }, { 'x-github-event': 'ping' }],
    ] as const) {
      const answer = await call(hook, payload, { headers: { ...FOREVER, ...more } })
      assert.deepEqual([answer.status, appliedTo(answer), 'status' in answer.body], [200, undefined, false])
    }
    await endAll(at)
  })

  test('takes no database connection', async () => {
    const at = await freshTree()
    const waiting = Array.from({ length: 40 }, () => run({}, { at, headers: FOREVER }))
    await actionsAt(at, 40)
    const busy = openDatabase(api.settings, { onIdleError: () => {} })
    await until('no connection is in use', 10_000, async () => {
      const rows = await busy.db
        // biome-ignore lint/suspicious/noExplicitAny: a view of the system
        .selectFrom('pg_stat_activity' as any)
        .select('state')
        .where('datname', '=', api.settings.database)
        .where('state', '<>', 'idle')
        .execute()
      return rows.length === 1
    })
    await busy.close()
    await endAll(at, 40)
    for (const answer of await Promise.all(waiting)) assert.equal(answer.body.status, 'failed')
  })
})

suite('waits are limited', () => {
  test('a call beyond the limit of its hook is answered at once', async () => {
    const at = await freshTree()
    const hook = await makeHook({}, at)
    const other = await makeHook({}, at)
    const waiting = Array.from({ length: 3 }, () => call(hook, {}, { headers: FOREVER }))
    const rejected = await soon(Promise.race(waiting))
    assertStarted(rejected)
    assert.equal(appliedTo(rejected), undefined)
    assert.ok(!('status' in rejected.body))
    const elsewhere = call(other, {}, { headers: FOREVER })
    await endAll(at, 4)
    assert.equal(appliedTo(await soon(elsewhere)), 'wait=300')
    const applied = (await soon(Promise.all(waiting))).map(appliedTo)
    assert.deepEqual(applied.sort(), ['wait=300', 'wait=300', undefined])
  })

  test('a request beyond the limit of the process or of its user is answered at once', async (t) => {
    const small = await openTestApp(t, {
      beside: api,
      waits: { pollMs: 600_000, maxWaits: 2, maxPerUser: 1 },
    })
    const at = await freshTree()
    const url = `/pipelines/${at.pipelineId}/actions`
    const ask = (token: string) => small.request('POST', url, { token, body: {}, headers: FOREVER })
    const member = await createMember(db, at, 'owner')
    const third = await createMember(db, at, 'owner')
    const own = [ask(at.owner.token), ask(at.owner.token)]
    assert.equal(appliedTo(await soon(Promise.race(own))), undefined)
    const others = [ask(member.token), ask(third.token)]
    assert.equal(appliedTo(await soon(Promise.race(others))), undefined)
    await endAll(at, 4)
    const applied = (await soon(Promise.all([...own, ...others]))).map(appliedTo)
    assert.deepEqual(applied.sort(), ['wait=300', 'wait=300', undefined, undefined])
  })
})

suite('a wait ends early', () => {
  test('when the token is revoked or the permission is lost, with what the caller was allowed to see', async () => {
    const at = await freshTree()
    const url = `/pipelines/${at.pipelineId}/actions`
    const ends: ((person: { id: number; token: string }) => Promise<unknown>)[] = [
      ({ token }) => api.request('POST', '/users/logout', { token }),
      ({ id }) => db.deleteFrom('grants').where('user_id', '=', id).execute(),
      ({ id }) => db.updateTable('users').set({ active: false }).where('id', '=', id).execute(),
    ]
    for (const end of ends) {
      const person = await createMember(db, at, 'developer')
      const waiting = api.request('POST', url, { token: person.token, body: {}, headers: FOREVER })
      await actionsAt(at)
      await end(person)
      const answer = await soon(waiting)
      assert.deepEqual([answer.status, answer.body.status], [201, 'queued'])
      await endAll(at)
    }
  })

  test('when the hook is removed or switched off', async () => {
    const at = await freshTree()
    const ends: ((hook: Hook) => Promise<void>)[] = [
      (hook) => changeHook(hook, { active: false }, at),
      (hook) => removeHook(hook, at),
    ]
    for (const end of ends) {
      const hook = await makeHook({}, at)
      const waiting = call(hook, {}, { headers: FOREVER })
      await actionsAt(at)
      await end(hook)
      assertStarted(await soon(waiting))
      await endAll(at)
    }
  })

  test('when the caller goes away, which makes room for another', async () => {
    const at = await freshTree()
    const hook = await makeHook({}, at)
    const gone = new AbortController()
    const headers = { ...FOREVER, 'content-type': 'application/json' }
    const options = { method: 'POST', body: '{}', headers, signal: gone.signal }
    const abandoned = [1, 2].map(() => fetch(origin + pathOf(hook), options))
    await actionsAt(at, 2)
    gone.abort()
    for (const one of abandoned) await assert.rejects(one)
    // The runs of the abandoned calls go on, so only the end of their waits makes room.
    await until('another call waits', 10_000, async () => {
      const next = call(hook, {}, { headers: FOREVER })
      const newest = (await actionsAt(at, 3)).at(-1)!
      await cancel(newest, { at })
      return appliedTo(await soon(next)) !== undefined
    })
    await endAll(at, 2)
  })

  test('when the service stops, which it does not delay', async (t) => {
    const other = await openTestApp(t, { beside: api, waits: { pollMs: 600_000 } })
    const at = await freshTree()
    const hook = await makeHook({}, at)
    const host = await listen(other)
    const send = async (path: string) => {
      const headers = {
        ...FOREVER,
        authorization: `Bearer ${at.owner.token}`,
        'content-type': 'application/json',
      }
      const response = await fetch(host + path, { method: 'POST', headers, body: '{}' })
      return { status: response.status, body: (await response.json()) as { status: string } }
    }
    const waiting = Promise.all([send(pathOf(hook)), send(`/pipelines/${at.pipelineId}/actions`)])
    await actionsAt(at, 2)
    const began = performance.now()
    await other.app.close()
    assert.ok(performance.now() - began < 3_000, 'the stop took long')
    const [called, ran] = await waiting
    assert.deepEqual([called.status, ran.status, ran.body.status], [202, 201, 'queued'])
    await endAll(at, 2)
  })

  test('never with an error: while the database is away, the answer is the state before', async (t) => {
    const other = await openRuns(t, { waits: { pollMs: 100 } })
    const { database } = other.api.settings
    const waiting = other.run({}, { headers: { prefer: 'wait=3' } })
    await until('the request waits', 10_000, () =>
      other.api.statements.some((statement) => statement.startsWith('select id, status, status_reason_code')),
    )
    await administer(`alter database ${database} allow_connections false`)
    await administer(`select pg_terminate_backend(pid) from pg_stat_activity where datname = '${database}'`)
    const answer = await waiting
    await administer(`alter database ${database} allow_connections true`)
    assert.deepEqual([answer.status, answer.body.status], [201, 'queued'], answer.text)
  })
})
