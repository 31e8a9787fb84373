// Login with email and password. Its throttling is tested in login-throttle.test.ts.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { sql } from 'kysely'
import { hashToken } from '#platform/crypto/tokens.ts'
import { deactivate, isValid, logIn, openAccounts, PASSWORD } from '#test/support/accounts.ts'
import { openTestApp } from '#test/support/harness.ts'
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
