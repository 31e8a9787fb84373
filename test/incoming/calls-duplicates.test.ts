// A call starts one run, however often it is sent.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { sql } from 'kysely'
import { assertRejected, assertStarted, openCalls, SIGNED, withVariables } from '#test/support/calls.ts'
import { openTestApp } from '#test/support/harness.ts'
import { createTestTree } from '#test/support/world.ts'

const { api, db, makeHook, changeHook, archive, call, actionsOf, requestsOf, outcomesOf, jobsFor } =
  await openCalls({
    after,
  })

suite('duplicates', () => {
  const delivery = (id: string, more: object = {}) => ({ headers: { 'x-github-delivery': id, ...more } })

  test('the same id and body returns 200 with the action of the first call', async () => {
    const hook = await makeHook(SIGNED)
    const first = await call(hook, { a: 1 }, delivery('1'))
    const id = assertStarted(first)
    const second = await call(hook, { a: 1 }, delivery('1'))
    assert.equal(second.status, 200)
    assert.equal(second.headers['x-gantry-action-id'], String(id))
    assert.deepEqual(second.body, {
      ...first.body,
      message: 'Duplicate: this call has already started the pipeline.',
      hook_request_id: (await requestsOf(hook))[1]!.id,
    })
    assert.equal((await actionsOf(hook)).length, 1)
    const records = await requestsOf(hook)
    assert.deepEqual(
      records.map(({ outcome, action_id, response_status_code }) => [
        outcome,
        action_id,
        response_status_code,
      ]),
      [
        ['accepted', id, 202],
        ['duplicate', id, 200],
      ],
    )
  })

  test('the same id with another body, another id, another hook, or no id at all is a new action', async () => {
    const [hook, other] = [await makeHook(), await makeHook()]
    const ids = [
      await call(hook, { a: 1 }, delivery('1')),
      await call(hook, { a: 2 }, delivery('1')),
      await call(hook, { a: 1 }, delivery('2')),
      await call(other, { a: 1 }, delivery('1')),
      await call(hook, { a: 1 }),
      await call(hook, { a: 1 }),
      await call(hook, { a: 1 }, { headers: { 'linear-delivery': '1' } }),
    ].map(assertStarted)
    assert.equal(new Set(ids).size, ids.length)
  })

  test('a duplicate that cannot be recorded is rejected, and the others of its batch still start one run each', async (t) => {
    const hook = await makeHook()
    assertStarted(await call(hook, { a: 1 }, delivery('1')))
    await sql`create function refuse_copies() returns trigger language plpgsql as $$
      begin
        if new.outcome = 'duplicate' then raise exception 'no copies'; end if;
        return new;
      end $$`.execute(db)
    await sql`create trigger refuse_copies before insert on hook_requests
      for each row execute function refuse_copies()`.execute(db)
    t.after(() => sql`drop function refuse_copies cascade`.execute(db))
    const [copy, ...others] = await Promise.all([
      call(hook, { a: 1 }, delivery('1')),
      ...Array.from({ length: 5 }, () => call(hook, { a: 2 })),
    ])
    assert.equal(copy.status, 503)
    assert.equal(new Set(others.map(assertStarted)).size, others.length)
    assert.equal((await actionsOf(hook)).length, 1 + others.length)
  })

  test('after a day it starts a new action, and later ones are duplicates of that one', async () => {
    const hook = await makeHook()
    const claimedBefore = (interval: string) =>
      sql`update delivery_claims set claimed_at = now() - ${interval}::interval where hook_id = ${hook.id}`.execute(
        db,
      )
    const first = assertStarted(await call(hook, {}, delivery('1')))
    await claimedBefore('23 hours 59 minutes')
    assert.equal((await call(hook, {}, delivery('1'))).body.action_id, first)
    await claimedBefore('24 hours 1 second')
    const second = assertStarted(await call(hook, {}, delivery('1')))
    assert.notEqual(second, first)
    assert.equal((await call(hook, {}, delivery('1'))).body.action_id, second)
  })

  test('of 100 concurrent copies through two processes, one starts an action and all get its id', async (t) => {
    const other = await openTestApp(t, { beside: api })
    const hook = await makeHook(SIGNED)
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, n) =>
        call(hook, { a: 1 }, { ...delivery('1'), by: n % 2 ? other : api }),
      ),
    )
    const [action, ...more] = await actionsOf(hook)
    assert.deepEqual(more, [])
    assert.deepEqual(new Set(answers.map(({ body }) => body.action_id)), new Set([action!.id]))
    assert.deepEqual(answers.map(({ status }) => status).toSorted(), [...Array<number>(99).fill(200), 202])
    assert.equal((await outcomesOf(hook)).filter((outcome) => outcome === 'duplicate').length, 99)
    assert.equal(await jobsFor(action!.id), 1)
  })

  test('only calls that start an action claim their id', async () => {
    const at = await createTestTree(db)
    const hook = await makeHook(withVariables({ name: 'n', type: 'integer' }), at)
    const send = () => call(hook, { n: '1.5', ref: 'dev' }, delivery('1'))
    assertRejected(await send(), 422, 'invalid')
    await changeHook(
      hook,
      { settings: {}, trigger_when: { conditions: [{ path: 'ref', accepted_values: ['main'] }] } },
      at,
    )
    assert.equal((await send()).body.action_id, null)
    await changeHook(hook, { trigger_when: {} }, at)
    assert.match(
      (await call(hook, { n: '1.5', ref: 'dev' }, delivery('1', { 'x-github-event': 'ping' }))).body.message,
      /Pong/,
    )
    await archive(at)
    assertRejected(await send(), 409, 'conflict')
    await archive(at, null)
    const id = assertStarted(await send())
    assert.equal((await send()).body.action_id, id)
  })

  test('a duplicate for a pipeline that can no longer run is recorded, and counts for a day', async () => {
    const at = await createTestTree(db)
    const hook = await makeHook({}, at)
    const id = assertStarted(await call(hook, {}, delivery('1')))
    await db.deleteFrom('pipeline_steps').where('pipeline_id', '=', at.pipelineId).execute()
    const again = await call(hook, {}, delivery('1'))
    assert.equal(again.body.action_id, id)
    const record = (await requestsOf(hook)).find((one) => one.id === again.body.hook_request_id)
    assert.equal(record?.outcome, 'duplicate')
    assert.equal(record?.action_id, id)
    await sql`update delivery_claims set claimed_at = now() - interval '25 hours' where hook_id = ${hook.id}`.execute(
      db,
    )
    assertRejected(await call(hook, {}, delivery('1')), 409, 'conflict')
  })
})
