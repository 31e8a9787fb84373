// What the log says about calls: a line per call that was accepted, a line per hook and minute about those that were not.
import assert from 'node:assert/strict'
import { Writable } from 'node:stream'
import { after, test } from 'node:test'
import { sql } from 'kysely'
import { pino } from 'pino'
import { openCalls, SIGNED, tokenOf } from '#test/support/calls.ts'

const lines: string[] = []
const output = new Writable({
  write(chunk, _encoding, done) {
    lines.push(String(chunk))
    done()
  },
})
const { api, db, makeHook, call } = await openCalls({ after }, { log: pino({ level: 'info' }, output) })

const FLOOD = 50

/** Lines about calls, and lines that report rejected ones. */
function logged() {
  const parsed = lines.splice(0).map((line) => ({ line, ...JSON.parse(line) }))
  const requests = parsed.filter(({ route }) => route === '/hooks/:token/trigger')
  const warnings = parsed.filter(({ level }) => level >= 40)
  return { requests, warnings, text: parsed.map(({ line }) => line).join('') }
}

test('rejected calls of a hook share a line that has no part of them; accepted ones have one each', async () => {
  const hook = await makeHook(SIGNED)
  logged()
  for (let n = 0; n < FLOOD; n += 1) {
    const headers = { 'x-hub-signature-256': 'sha256=00' }
    assert.ok([403, 429].includes((await call(hook, { n: 'private' }, { headers })).status))
  }
  assert.equal((await call(hook, {}, { address: '192.0.2.7' })).status, 202)
  const { requests, warnings, text } = logged()
  assert.deepEqual(
    requests.map(({ status }) => status),
    [202],
  )
  assert.equal(warnings.length, 1)
  const { msg, hook_id, calls, statuses, code, reason } = warnings[0]!
  assert.deepEqual(
    { msg, hook_id, calls, statuses, code, reason },
    {
      msg: 'calls rejected',
      hook_id: hook.id,
      calls: 1,
      statuses: { 403: 1 },
      code: 'forbidden',
      reason: null,
    },
  )
  assert.ok(!text.includes('private') && !text.includes(tokenOf(hook)))
})

test('calls that the database refuses share a line with its SQLSTATE; a stop reports those that are only counted', async () => {
  const hook = await makeHook(SIGNED)
  assert.equal((await call(hook, {}, { address: '192.0.2.8' })).status, 202)
  logged()
  // What a full disk looks like.
  await sql`create function refuse() returns trigger language plpgsql as $$
    begin raise exception 'no space' using errcode = '53100'; end $$`.execute(db)
  await sql`create trigger refuse before insert on hook_requests execute function refuse()`.execute(db)
  for (let n = 0; n < 3; n += 1) {
    const answer = await call(hook, { n }, { address: '192.0.2.9' })
    assert.equal(answer.status, 503, answer.text)
  }
  const { requests, warnings } = logged()
  assert.deepEqual(requests, [])
  assert.deepEqual(
    warnings.map(({ msg, hook_id, calls, statuses, code }) => ({ msg, hook_id, calls, statuses, code })),
    [{ msg: 'calls rejected', hook_id: hook.id, calls: 1, statuses: { 503: 1 }, code: '53100' }],
  )
  await api.app.close()
  const last = logged().warnings.find(({ hook_id }) => hook_id === hook.id)
  assert.deepEqual([last?.calls, last?.statuses], [2, { 503: 2 }])
})
