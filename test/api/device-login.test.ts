// Login of a command line on a machine without a browser: a code that a person enters elsewhere.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { sql } from 'kysely'
import { pino } from 'pino'
import { subjectsOf } from '#access/accounts/login-throttle.ts'
import { normalizeCode, pruneDeviceCodes } from '#access/command-line-login/device-codes.ts'
import { auditOf, createToken, deactivate, isValid, openAccounts, PASSWORD } from '#test/support/accounts.ts'
import type { Answer } from '#test/support/harness.ts'
import { assertInvalid, assertRefused } from '#test/support/refusals.ts'

const log: string[] = []
const arrange = await openAccounts(
  { after },
  { log: pino({ level: 'trace' }, { write: (line: string) => void log.push(line) }) },
)
const OWN = { 'x-gantry-request': '1' }

/** Someone with a browser, and a machine without one in the same network. */
async function signIn() {
  const test = await arrange()
  const openBrowser = async () => {
    const body = { email: test.person.email, password: PASSWORD }
    const answer = await test.request('POST', '/session', { body, address: test.address })
    const token = /^gantry_session=([^;]*)/.exec(String(answer.headers['set-cookie']))![1]!
    return { ...OWN, cookie: `gantry_session=${token}` }
  }
  const headers = await openBrowser()
  return {
    ...test,
    headers,
    openBrowser,
    start: (name = 'build-7') =>
      test.request('POST', '/session/device-codes', { body: { name }, address: test.address }),
    answer: (
      what: 'lookup' | 'approve' | 'deny',
      user_code: string,
      by: object = headers,
      more: object = {},
    ) =>
      test.request('POST', `/session/device-codes/${what}`, {
        headers: by as Record<string, string>,
        body: { user_code, ...more },
        address: test.address,
      }),
    /** As if `interval` had passed since the last time. */
    async ask(device_code: string): Promise<Answer> {
      await sql`update device_codes set polled_at = polled_at - interval '5 seconds'`.execute(test.db)
      return test.request('POST', '/session/device-codes/token', { body: { device_code } })
    },
  }
}

async function expireCodes({ db }: Awaited<ReturnType<typeof signIn>>): Promise<void> {
  await sql`update device_codes set expires_at = now() - interval '1 second'`.execute(db)
}

suite('a machine without a browser', () => {
  test('may approve runs only if the person says so', async () => {
    const test = await signIn()
    const { device_code, user_code } = (await test.start()).body
    const denied = await test.answer('deny', user_code, undefined, { may_approve: true })
    assert.equal(denied.status, 422)
    const answer = await test.answer('approve', user_code, undefined, { may_approve: true })
    assert.equal(answer.status, 200, answer.text)
    const { scopes } = (await test.ask(device_code)).body
    assert.deepEqual(scopes, ['read', 'run', 'hooks', 'manage', 'approve'])
  })

  test('gets a token once a person has entered its code', async () => {
    const test = await signIn()
    const started = await test.start()
    assert.equal(started.status, 201, started.text)
    assert.equal(started.headers['cache-control'], 'no-store')
    const { device_code, user_code, verification_url, ...times } = started.body
    assert.match(user_code, /^[B-DF-HJ-NP-TV-XZ]{4}-[B-DF-HJ-NP-TV-XZ]{4}$/)
    assert.match(verification_url, /^http:.*\/app\/device$/)
    assert.deepEqual(times, { expires_in: 600, interval: 5 })

    assertRefused(await test.ask(device_code), 'authorization_pending')
    const { status, body } = await test.answer('lookup', user_code)
    assert.equal(status, 200)
    assert.deepEqual([body.name, body.ip_address], ['build-7', test.address])
    assertRefused(await test.ask(device_code), 'authorization_pending')
    assert.equal((await test.answer('approve', ` ${user_code.toLowerCase().replace('-', ' ')}`)).status, 200)

    const taken = await test.ask(device_code)
    assert.equal(taken.status, 201, taken.text)
    assert.equal(taken.headers['cache-control'], 'no-store')
    const { token, user, name, scopes } = taken.body
    assert.deepEqual([user.email, name, scopes], [test.person.email, 'gantry on build-7', null])
    assert.ok(await isValid(test, token))
    assertRefused(await test.ask(device_code), 'expired_token')
  })

  test('that asks too often is told to slow down, and still gets its token', async () => {
    const test = await signIn()
    const { device_code, user_code } = (await test.start()).body
    const askAtOnce = () => test.request('POST', '/session/device-codes/token', { body: { device_code } })
    assertRefused(await askAtOnce(), 'authorization_pending')
    const tooFast = await askAtOnce()
    assertRefused(tooFast, 'slow_down')
    assert.equal(tooFast.headers['retry-after'], '5')
    await test.answer('approve', user_code)
    assert.equal((await test.ask(device_code)).status, 201)
  })

  test('learns that it was denied, and that it waited too long', async () => {
    const test = await signIn()
    const denied = (await test.start()).body
    assert.equal((await test.answer('deny', denied.user_code)).status, 200)
    for (let time = 0; time < 2; time += 1) assertRefused(await test.ask(denied.device_code), 'access_denied')
    const late = (await test.start()).body
    await test.answer('approve', late.user_code)
    await expireCodes(test)
    assertRefused(await test.ask(late.device_code), 'expired_token')
    assertRefused(await test.ask('gty_dc_guess'), 'expired_token')
  })

  test('gets one token, however many ask at the same moment', async () => {
    const test = await signIn()
    const { device_code, user_code } = (await test.start()).body
    await test.answer('approve', user_code)
    const answers = await Promise.all(Array.from({ length: 4 }, () => test.ask(device_code)))
    assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 409, 409, 409])
  })

  test('gets none when the session that approved has ended, or the account', async () => {
    const signedOut = await signIn()
    const first = (await signedOut.start()).body
    await signedOut.answer('approve', first.user_code)
    await signedOut.request('DELETE', '/session', { headers: signedOut.headers })
    assertRefused(await signedOut.ask(first.device_code), 'expired_token')
    const [entry] = await auditOf(signedOut, signedOut.person, 'sign_in_failed')
    assert.deepEqual(entry!.after, { method: 'command_line', reason: 'ended_session' })
    const deactivated = await signIn()
    const second = (await deactivated.start()).body
    await deactivated.answer('approve', second.user_code)
    await deactivate(deactivated, deactivated.person)
    assertRefused(await deactivated.ask(second.device_code), 'expired_token')
  })

  test('may have 20 unfinished logins in its network, and a name that does not deceive', async () => {
    const test = await signIn()
    for (let count = 0; count < 20; count += 1) assert.equal((await test.start()).status, 201)
    assertRefused(await test.start(), 'too_many_requests')
    await expireCodes(test)
    await pruneDeviceCodes(test.db)
    const { rows } = await sql`select from device_codes`.execute(test.db)
    assert.deepEqual(rows, [])
    assert.equal((await test.start()).status, 201)
    for (const name of ['', ' ', 'a\nb', 'laptop \u202egnp', 'x'.repeat(51)])
      assertInvalid(await test.start(name), 'name')
  })
})

suite('a code', () => {
  test('is answered once, by whoever comes first', async () => {
    const [test, other] = [await signIn(), await signIn()]
    const { device_code, user_code } = (await test.start()).body
    const answers = await Promise.all([
      test.answer('approve', user_code),
      other.answer('approve', user_code),
      test.answer('approve', user_code),
    ])
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409, 409])
    for (const what of ['lookup', 'approve', 'deny'] as const)
      assertRefused(await test.answer(what, user_code), 'conflict')
    const { user } = (await test.ask(device_code)).body
    const winner = answers[1]!.status === 200 ? other : test
    assert.equal(user.email, winner.person.email)
  })

  test('that is wrong is allowed five times per session, and counts as a failed login', async () => {
    const test = await signIn()
    const { user_code } = (await test.start()).body
    for (const left of ['4 more tries', '3 more tries', '2 more tries', 'one more try', 'no more tries'])
      assertRefused(await test.answer('approve', 'WRNG-CDXX'), 'invalid', {
        user_code: [`is not the code of a login that waits: it may have expired. This session has ${left}`],
      })
    assertRefused(await test.answer('approve', user_code), 'forbidden')
    const { network } = subjectsOf('', test.address)
    const { rows } = await sql`select from login_failures where subject = ${network}`.execute(test.db)
    assert.equal(rows.length, 5)
    assert.equal((await test.answer('approve', user_code, await test.openBrowser())).status, 200)
  })

  test('guessed at the same moment is counted guess by guess', async () => {
    const test = await signIn()
    const guesses = await Promise.all(Array.from({ length: 12 }, () => test.answer('lookup', 'WRNG-CDXX')))
    const statuses = guesses.map(({ status }) => status).sort()
    assert.deepEqual(statuses, [...Array(7).fill(403), ...Array(5).fill(422)])
  })

  test('is entered in a browser only', async () => {
    const test = await signIn()
    const { user_code } = (await test.start()).body
    const { token } = await createToken(test, test.person)
    for (const what of ['lookup', 'approve', 'deny'] as const) {
      assertRefused(await test.answer(what, user_code, {}), 'unauthenticated')
      assertRefused(await test.answer(what, user_code, { authorization: `Bearer ${token}` }), 'forbidden')
      assertRefused(await test.answer(what, user_code, { cookie: test.headers.cookie }), 'forbidden')
      const evil = { ...test.headers, origin: 'https://evil.example.com' }
      assertRefused(await test.answer(what, user_code, evil), 'forbidden')
    }
  })

  test('is stored and logged nowhere, and neither is that of the machine', async () => {
    const test = await signIn()
    log.length = 0
    const { device_code, user_code } = (await test.start()).body
    const { rows } = await sql<{ text: string }>`select d::text as text from device_codes d`.execute(test.db)
    await test.answer('approve', user_code)
    const { token } = (await test.ask(device_code)).body
    assert.ok(log.length > 0 && rows.length > 0)
    const kept = [...rows.map(({ text }) => text), ...log].join('\n')
    for (const secret of [device_code, user_code, normalizeCode(user_code), token])
      for (const form of [secret, Buffer.from(secret).toString('hex')]) assert.ok(!kept.includes(form))
  })
})
