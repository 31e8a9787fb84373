// Login with email and password, and its rate limits.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { sql } from 'kysely'
import { hashToken } from '#platform/crypto/tokens.ts'
import { type Arranged, deactivate, isValid, logIn, openAccounts, PASSWORD } from '#test/support/accounts.ts'
import { type Answer, openTestApp } from '#test/support/harness.ts'
import { createPerson } from '#test/support/world.ts'

const arrange = await openAccounts({ after })

suite('login', () => {
  test('the correct email and password return valid tokens', async () => {
    const test = await arrange()
    const { status, body } = await logIn(test)
    assert.equal(status, 200)
    assert.deepEqual(Object.keys(body), ['access_token', 'token_type', 'expires_in', 'refresh_token'])
    assert.equal(body.token_type, 'bearer')
    assert.equal(body.expires_in, 12 * 60 * 60)
    assert.match(body.access_token, /^gty_at_/)
    assert.match(body.refresh_token, /^gty_rt_/)
    assert.ok(await isValid(test, body.access_token))
  })

  test('tokens have the configured lifetimes', async (t) => {
    const environment = { GANTRY_ACCESS_TOKEN_MINUTES: '5', GANTRY_REFRESH_TOKEN_DAYS: '2' }
    const test = await arrange(await openTestApp(t, { environment }))
    const { body } = await logIn(test)
    assert.equal(body.expires_in, 300)
    const { rows } = await sql<{ kind: string; minutes: number }>`
      select kind, round(extract(epoch from expires_at - now()) / 60)::int as minutes
      from tokens where hash in (${hashToken(body.access_token)}, ${hashToken(body.refresh_token)})
      order by kind`.execute(test.db)
    assert.deepEqual(rows, [
      { kind: 'access', minutes: 5 },
      { kind: 'refresh', minutes: 2 * 24 * 60 },
    ])
  })

  test('no token is stored in plain text', async () => {
    const test = await arrange()
    const { body } = await logIn(test)
    const { rows } = await sql<{ row: string }>`select tokens::text as row from tokens`.execute(test.db)
    const stored = rows.map(({ row }) => row).join('\n')
    assert.equal(stored.includes(body.access_token), false)
    assert.equal(stored.includes(body.refresh_token), false)
  })

  test('the email address is case-insensitive', async () => {
    const test = await arrange()
    assert.equal((await logIn(test, test.person.email.toUpperCase())).status, 200)
  })

  test('an incorrect password and an unknown email get the same response', async () => {
    const test = await arrange()
    const answers = [
      await logIn(test, test.person.email, 'wrong'),
      await logIn(test, 'nobody@example.com'),
      await logIn(test, (await createPerson(test.db)).email),
    ]
    for (const { status, body, headers } of answers) {
      assert.equal(status, 401)
      assert.equal(body.code, 'unauthenticated')
      assert.equal(body.message, 'Incorrect email or password.')
      assert.equal(body.errors, null)
      assert.equal(headers['retry-after'], undefined)
    }
  })

  test('a deactivated account cannot log in, and is indistinguishable from an unknown one', async () => {
    const test = await arrange()
    await deactivate(test, test.person)
    const { status, body } = await logIn(test)
    assert.equal(status, 401)
    assert.equal(body.message, 'Incorrect email or password.')
  })

  test('missing and unknown fields are all reported', async () => {
    const { request } = await arrange()
    const { status, body } = await request('POST', '/users/login', { body: { e_mail: 'x', password: 1 } })
    assert.equal(status, 422)
    assert.deepEqual(body.errors, {
      email: ['is required'],
      e_mail: ['is not recognized; expected: email, password'],
      password: ['must be a string'],
    })
  })

  test('a token is not required, and an invalid one is ignored', async () => {
    const { request, person } = await arrange()
    const body = { email: person.email, password: PASSWORD }
    assert.equal((await request('POST', '/users/login', { body, token: 'gty_at_nonsense' })).status, 200)
  })
})

suite('throttling of logins', () => {
  /** Past failures, without the time that real ones take. */
  async function fail(
    test: Arranged,
    about: { email?: string; address?: string },
    count: number,
    ago = '1 minute',
  ) {
    const subject = about.email === undefined ? `address:${about.address}` : `email:${about.email}`
    await sql`
      insert into login_failures (subject, failed_at)
      select sha256(${subject}::bytea), now() - ${ago}::interval from generate_series(1, ${count})`.execute(
      test.db,
    )
  }

  function assertThrottled({ status, body, headers }: Answer, about: { atMost: number }) {
    assert.equal(status, 429)
    assert.equal(body.code, 'too_many_requests')
    const seconds = Number(headers['retry-after'])
    assert.ok(Number.isInteger(seconds) && seconds >= 1 && seconds <= about.atMost, `${seconds} seconds`)
  }

  test('the eleventh guess for an email is throttled, in any case and from any address', async () => {
    const test = await arrange()
    for (let guess = 1; guess <= 10; guess++) {
      assert.equal(
        (await logIn(test, test.person.email, `guess ${guess}`, `${test.address}:${guess}`)).status,
        401,
      )
    }
    const upper = test.person.email.toUpperCase()
    assertThrottled(await logIn(test, upper, 'guess 11', `${test.address}:11`), { atMost: 900 })
  })

  test('a throttled email is rejected even with the correct password', async () => {
    const test = await arrange()
    await fail(test, test.person, 10, '14 minutes')
    assertThrottled(await logIn(test), { atMost: 60 })
  })

  test('an unknown email is throttled like a known one', async () => {
    const test = await arrange()
    await fail(test, { email: 'nobody@example.com' }, 10)
    assertThrottled(await logIn(test, 'nobody@example.com'), { atMost: 840 })
  })

  test('an address with fifty failures is throttled for every email, others are not', async () => {
    const test = await arrange()
    await fail(test, { address: test.address }, 50)
    assertThrottled(await logIn(test), { atMost: 840 })
    assert.equal((await logIn(test, test.person.email, PASSWORD, `${test.address}:2`)).status, 200)
  })

  test('one guess below each limit is not throttled', async () => {
    const test = await arrange()
    await fail(test, test.person, 9)
    await fail(test, { address: test.address }, 49)
    assert.equal((await logIn(test)).status, 200)
  })

  test('failures older than 15 minutes no longer count', async () => {
    const test = await arrange()
    await fail(test, test.person, 50, '15 minutes 1 second')
    await fail(test, { address: test.address }, 50, '15 minutes 1 second')
    assert.equal((await logIn(test)).status, 200)
  })

  test('a successful login resets the failures of its email, not those of its address', async () => {
    const test = await arrange()
    await fail(test, test.person, 9)
    await fail(test, { address: test.address }, 49)
    assert.equal((await logIn(test)).status, 200)
    assert.equal((await logIn(test, test.person.email, 'wrong')).status, 401)
    assertThrottled(await logIn(test), { atMost: 840 })
    assert.equal((await logIn(test, test.person.email, PASSWORD, `${test.address}:2`)).status, 200)
  })

  test('concurrent guesses cannot exceed the limit', async () => {
    const test = await arrange()
    const guesses = Array.from({ length: 25 }, (_, index) =>
      logIn(test, test.person.email, `guess ${index}`, `${test.address}:${index}`),
    )
    const statuses = (await Promise.all(guesses)).map(({ status }) => status)
    assert.equal(statuses.filter((status) => status === 401).length, 10)
    assert.equal(statuses.filter((status) => status === 429).length, 15)
  })

  test('many concurrent correct logins all succeed', async () => {
    const test = await arrange()
    const logins = Array.from({ length: 20 }, () => logIn(test))
    for (const { status } of await Promise.all(logins)) assert.equal(status, 200)
  })

  test('the address is that of the connection unless a trusted proxy forwards another', async (t) => {
    const headers = { 'x-forwarded-for': '203.0.113.9' }
    const body = { email: 'nobody@example.com', password: 'wrong' }
    for (const [environment, address] of [
      [{}, '192.0.2.1'],
      [{ GANTRY_TRUST_PROXY: '192.0.2.0/24' }, '203.0.113.9'],
      [{ GANTRY_TRUST_PROXY: '10.0.0.0/8' }, '192.0.2.1'],
    ] as const) {
      const test = await openTestApp(t, { environment })
      assert.equal((await test.request('POST', '/users/login', { body, headers })).status, 401)
      const { rows } = await sql`
        select from login_failures where subject = sha256(${`address:${address}`}::bytea)`.execute(test.db)
      assert.equal(rows.length, 1, address)
    }
  })
})
