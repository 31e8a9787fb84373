// Who may read the metrics: never anyone without a token, wherever the request comes from.
import assert from 'node:assert/strict'
import { Writable } from 'node:stream'
import { after, suite, test } from 'node:test'
import { pino } from 'pino'
import { openTestApp } from '#test/support/harness.ts'
import { listen } from '#test/support/streams.ts'
import { createPerson } from '#test/support/world.ts'

const METRICS_TOKEN = 'prometheus.0123-4567_89~ab+c/d='
const lines: string[] = []
const output = new Writable({
  write(chunk, _encoding, done) {
    lines.push(String(chunk))
    done()
  },
})
const health = { metrics: async () => 'gantry_up 1\n' }
const log = pino({ level: 'trace' }, output)
const environment = { GANTRY_METRICS_TOKEN: METRICS_TOKEN }
const protectedApp = await openTestApp({ after }, { environment, health, log })
const plainApp = await openTestApp({ after }, { health })
const host = await listen(protectedApp)

const read = (headers: Record<string, string>) => fetch(`${host}/metrics`, { headers })

suite('metrics', () => {
  test('are not open to this machine, with or without a proxy in between', async () => {
    const forwarded = { 'x-forwarded-for': '127.0.0.1', forwarded: 'for=127.0.0.1' }
    for (const answer of [await read({}), await read(forwarded)]) {
      assert.equal(answer.status, 401)
      assert.doesNotMatch(await answer.text(), /gantry_up/)
    }
    for (const address of ['127.0.0.1', '::1', '::ffff:127.0.0.1'])
      assert.equal((await plainApp.request('GET', '/metrics', { address })).status, 401)
  })

  test('are sent to the holder of the metrics token', async () => {
    const answer = await read({ authorization: `Bearer ${METRICS_TOKEN}` })
    assert.equal(answer.status, 200)
    assert.equal(await answer.text(), 'gantry_up 1\n')
    const head = await fetch(`${host}/metrics`, {
      method: 'HEAD',
      headers: { authorization: `Bearer ${METRICS_TOKEN}` },
    })
    assert.equal(head.status, 200)
  })

  test('are not sent for a token that differs, nor for one in the cookie or the URL', async () => {
    const other = `${METRICS_TOKEN.slice(0, -1)}x`
    for (const token of [other, METRICS_TOKEN.slice(0, -1), `${METRICS_TOKEN}x`, ''])
      assert.equal((await read({ authorization: `Bearer ${token}` })).status, 401)
    assert.equal((await read({ authorization: `Basic ${METRICS_TOKEN}` })).status, 401)
    assert.equal((await read({ cookie: `gantry_session=${METRICS_TOKEN}` })).status, 401)
    assert.equal((await fetch(`${host}/metrics?token=${encodeURIComponent(METRICS_TOKEN)}`)).status, 401)
  })

  test('without the setting are for instance administrators only', async () => {
    const { db, request } = plainApp
    const [admin, person] = [await createPerson(db, { admin: true }), await createPerson(db)]
    assert.equal((await request('GET', '/metrics', { token: admin.token })).status, 200)
    assert.equal((await request('GET', '/metrics', { token: person.token })).status, 403)
    assert.equal((await request('GET', '/metrics', { token: METRICS_TOKEN })).status, 401)
    assert.equal((await request('GET', '/metrics', { token: 'undefined' })).status, 401)
  })

  test('the metrics token opens nothing else', async () => {
    for (const url of ['/jobs/dead-letters', '/users/me', '/actions', '/organizations']) {
      const { status } = await protectedApp.request('GET', url, { token: METRICS_TOKEN })
      assert.equal(status, 401, url)
    }
  })

  test('the metrics token appears in no log line', () => {
    assert.ok(lines.some((line) => line.includes('"route":"/metrics"')))
    for (const line of lines) assert.ok(!line.includes(METRICS_TOKEN.slice(0, 12)), line)
  })
})
