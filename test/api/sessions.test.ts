// The tokens of a login: their lifetime, refresh and revocation.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { sql } from 'kysely'
import { networkOf } from '#access/accounts/networks.ts'
import { pruneTokens } from '#access/accounts/sessions.ts'
import { hashToken } from '#platform/crypto/tokens.ts'
import {
  type Arranged,
  auditOf,
  createToken,
  deactivate,
  expire,
  isValid,
  logIn,
  openAccounts,
  refresh,
  type Tokens,
} from '#test/support/accounts.ts'
import { createAccessToken, createPerson } from '#test/support/world.ts'

const arrange = await openAccounts({ after })

suite('refresh tokens', () => {
  test('a refresh token returns a new pair, and the old access token stays valid', async () => {
    const test = await arrange()
    const first: Tokens = (await logIn(test)).body
    const { status, body: second } = await refresh(test, first.refresh_token)
    assert.equal(status, 200)
    assert.deepEqual(Object.keys(second), ['access_token', 'token_type', 'expires_in', 'refresh_token'])
    assert.notEqual(second.refresh_token, first.refresh_token)
    assert.ok(await isValid(test, second.access_token))
    assert.ok(await isValid(test, first.access_token))
    assert.equal((await refresh(test, second.refresh_token)).status, 200)
  })

  test('a reused refresh token revokes the whole login with all its tokens', async () => {
    const test = await arrange()
    const first: Tokens = (await logIn(test)).body
    const second: Tokens = (await refresh(test, first.refresh_token)).body
    const { status, body } = await refresh(test, first.refresh_token)
    assert.equal(status, 401)
    assert.equal(body.message, 'This refresh token was already used; log in again.')
    assert.equal((await refresh(test, second.refresh_token)).status, 401)
    assert.equal(await isValid(test, first.access_token), false)
    assert.equal(await isValid(test, second.access_token), false)
    const entries = await auditOf(test, test.person, 'session_ended')
    assert.deepEqual(
      entries.map(({ user_id, after }) => [user_id, after]),
      [[null, { reason: 'refresh_token_reused' }]],
    )
  })

  test('other logins of the same user are not affected', async () => {
    const test = await arrange()
    const other: Tokens = (await logIn(test)).body
    const first: Tokens = (await logIn(test)).body
    await refresh(test, first.refresh_token)
    await refresh(test, first.refresh_token)
    assert.ok(await isValid(test, other.access_token))
    assert.equal((await refresh(test, other.refresh_token)).status, 200)
  })

  test('of two concurrent uses one succeeds, and then the login is revoked', async () => {
    const test = await arrange()
    const first: Tokens = (await logIn(test)).body
    const answers = await Promise.all([
      refresh(test, first.refresh_token),
      refresh(test, first.refresh_token),
    ])
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 401])
    const winner = answers.find(({ status }) => status === 200)!
    assert.equal(await isValid(test, winner.body.access_token), false)
    assert.equal((await refresh(test, winner.body.refresh_token)).status, 401)
  })

  test('tokens issued during a revocation do not survive it', async () => {
    for (const end of ['reuse', 'logout'] as const) {
      const test = await arrange()
      const first: Tokens = (await logIn(test)).body
      const second: Tokens = (await refresh(test, first.refresh_token)).body
      // New tokens reference their user: while that row is locked, they cannot be inserted.
      const held = await test.db.startTransaction().execute()
      await held.selectFrom('users').select('id').where('id', '=', test.person.id).forUpdate().execute()
      const making = refresh(test, second.refresh_token)
      await untilWaiting(test, 1)
      const ending =
        end === 'reuse'
          ? refresh(test, first.refresh_token)
          : test.request('POST', '/users/logout', { token: second.access_token })
      await untilWaiting(test, 2)
      await held.rollback().execute()
      assert.equal((await ending).status, end === 'reuse' ? 401 : 204)
      const made = await making
      if (made.status === 200) assert.equal(await isValid(test, made.body.access_token), false)
      const { rows } = await sql`select from tokens where family is not null and revoked_at is null
        and family = (select family from tokens where hash = ${hashToken(first.access_token)})`.execute(
        test.db,
      )
      assert.equal(rows.length, 0)
    }
  })

  /** Waits until this many statements of the app wait for a lock. */
  async function untilWaiting({ db }: Arranged, count: number): Promise<void> {
    for (;;) {
      const { rows } = await sql`select from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`.execute(db)
      if (rows.length >= count) return
    }
  }

  test('only a valid refresh token is accepted', async () => {
    const test = await arrange()
    const { body: tokens } = await logIn(test)
    for (const token of [tokens.access_token, 'gty_rt_nonsense', ' ', `${tokens.refresh_token} `]) {
      const { status, body } = await refresh(test, token)
      assert.equal(status, 401)
      assert.equal(body.message, 'This refresh token is not valid; log in again.')
    }
    assert.ok(await isValid(test, tokens.access_token))
  })

  test('an expired refresh token is rejected', async () => {
    const test = await arrange()
    const { body: tokens } = await logIn(test)
    await expire(test, tokens.refresh_token)
    assert.equal((await refresh(test, tokens.refresh_token)).status, 401)
  })

  test('a refresh token of a deactivated account is rejected', async () => {
    const test = await arrange()
    const { body: tokens } = await logIn(test)
    await deactivate(test, test.person)
    assert.equal((await refresh(test, tokens.refresh_token)).status, 401)
  })
})

suite('logout', () => {
  test('logging out revokes all access and refresh tokens of the login, including those before a refresh', async () => {
    const test = await arrange()
    const first: Tokens = (await logIn(test)).body
    const second: Tokens = (await refresh(test, first.refresh_token)).body
    const { status, text } = await test.request('POST', '/users/logout', { token: second.access_token })
    assert.equal(status, 204)
    assert.equal(text, '')
    assert.equal(await isValid(test, second.access_token), false)
    assert.equal(await isValid(test, first.access_token), false)
    assert.equal((await refresh(test, second.refresh_token)).status, 401)
  })

  test('other logins stay valid', async () => {
    const test = await arrange()
    const [one, other] = [await logIn(test), await logIn(test)]
    await test.request('POST', '/users/logout', { token: one.body.access_token })
    assert.ok(await isValid(test, other.body.access_token))
  })

  test('logging out with a personal access token revokes only that token', async () => {
    const test = await arrange()
    const { token } = await createToken(test, test.person)
    assert.equal((await test.request('POST', '/users/logout', { token })).status, 204)
    assert.equal(await isValid(test, token), false)
    assert.ok(await isValid(test, test.person.token))
  })

  test('a body is not required, with or without a content type', async () => {
    const { db, request, person } = await arrange()
    const options = [{}, { body: {} }, { headers: { 'content-type': 'application/json' } }]
    for (const more of options) {
      const token = await createAccessToken(db, person.id)
      assert.equal((await request('POST', '/users/logout', { token, ...more })).status, 204)
    }
  })
})

suite('who am I', () => {
  test('users/me returns the account of the token, without its password', async () => {
    const { request, person } = await arrange()
    const { status, body, text } = await request('GET', '/users/me', { token: person.token })
    assert.equal(status, 200)
    assert.deepEqual(Object.keys(body), [
      'id',
      'name',
      'email',
      'url_slug',
      'language',
      'active',
      'created_at',
      'updated_at',
    ])
    assert.equal(body.id, person.id)
    assert.equal(body.email, person.email)
    assert.equal(body.language, 'en')
    assert.equal(body.active, true)
    assert.equal(text.includes('argon2'), false)
  })

  test('an expired access token is rejected', async () => {
    const test = await arrange()
    assert.equal(await isValid(test, await createAccessToken(test.db, test.person.id, new Date())), false)
  })

  test('an expired token says so, and how to get a new one', async () => {
    const test = await arrange()
    const { body: login } = await logIn(test)
    const { token: personal } = await createToken(test, test.person, { expires_at: '2100-01-01T00:00:00Z' })
    const cookie = await createAccessToken(test.db, test.person.id, new Date())
    await test.db
      .updateTable('tokens')
      .set({ in_cookie: true })
      .where('hash', '=', hashToken(cookie))
      .execute()
    const cases: [string, Record<string, string>, RegExp][] = [
      [login.access_token, { authorization: `Bearer ${login.access_token}` }, /POST \/users\/refresh-token/],
      [personal, { authorization: `Bearer ${personal}` }, /Create a new one/],
      [cookie, { cookie: `gantry_session=${cookie}` }, /session has expired/],
    ]
    for (const [token, headers, message] of cases) {
      await expire(test, token)
      const answer = await test.request('GET', '/users/me', { headers })
      assert.deepEqual([answer.status, answer.body.code], [401, 'token_expired'])
      assert.match(answer.body.message, message)
      assert.equal(answer.headers['www-authenticate'], 'Bearer error="invalid_token"')
    }
    await sql`update tokens set expires_at = now() - interval '20 days' where user_id = ${test.person.id}`.execute(
      test.db,
    )
    await pruneTokens(test.db)
    assert.equal((await test.request('GET', '/users/me', { token: personal })).body.code, 'token_expired')
  })

  test('an expired token that was revoked, or whose account is deactivated, is unknown', async () => {
    const test = await arrange()
    const { id, token } = await createToken(test, test.person, { expires_at: '2100-01-01T00:00:00Z' })
    const other = await createAccessToken(test.db, test.person.id, new Date())
    await test.request('DELETE', `/users/personal-access-tokens/${id}`, { token: test.person.token })
    await expire(test, token)
    await deactivate(test, test.person)
    for (const one of [token, other]) {
      const { body } = await test.request('GET', '/users/me', { token: one })
      assert.equal(body.code, 'unauthenticated')
    }
  })

  test('a refresh token does not authenticate', async () => {
    const test = await arrange()
    const { body } = await logIn(test)
    assert.equal(await isValid(test, body.refresh_token), false)
  })

  test('tokens of a deactivated account stop working at once, and work again when it is reactivated', async () => {
    const test = await arrange()
    const { token } = await createToken(test, test.person)
    await deactivate(test, test.person)
    assert.equal(await isValid(test, test.person.token), false)
    assert.equal(await isValid(test, token), false)
    await test.db.updateTable('users').set({ active: true }).where('id', '=', test.person.id).execute()
    assert.ok(await isValid(test, test.person.token))
  })

  test('any other Authorization header is 401 with a challenge', async () => {
    const { request, person } = await arrange()
    const wrong = [
      '',
      'Bearer',
      'Bearer ',
      `Basic ${person.token}`,
      person.token,
      `Token ${person.token}`,
      `Bearer ${person.token}x`,
      `Bearer ${person.token.slice(0, -1)}`,
      `Bearer ${person.token.toUpperCase()}`,
      `Bearer ${person.token}, Bearer ${person.token}`,
      `Bearer "${person.token}"`,
      `Bearer ${'x'.repeat(10_000)}`,
      "Bearer ' or 1=1 --",
      'Bearer %00',
      'Bearer äöü',
      'Bearer gty_at_',
    ]
    for (const authorization of wrong) {
      const { status, body, headers } = await request('GET', '/users/me', { headers: { authorization } })
      assert.equal(status, 401, authorization)
      assert.equal(body.code, 'unauthenticated')
      assert.equal(headers['www-authenticate'], 'Bearer')
    }
  })

  test('the scheme is case-insensitive', async () => {
    const { request, person } = await arrange()
    for (const scheme of ['bearer', 'BEARER', 'Bearer  ']) {
      const headers = { authorization: `${scheme} ${person.token}` }
      assert.equal((await request('GET', '/users/me', { headers })).status, 200, scheme)
    }
  })
})

test('pruning removes only what can never be used again', async () => {
  const test = await arrange()
  const other = await createPerson(test.db)
  const { body: tokens } = await logIn(test)
  const { token } = await createToken(test, test.person)
  await logIn(test, test.person.email, 'wrong')
  await sql`insert into login_failures (subject, failed_at) values ('old', now() - interval '2 days')`.execute(
    test.db,
  )
  const old = await createAccessToken(test.db, test.person.id, new Date(Date.now() - 2 * 86_400_000))
  await sql`update sessions set created_at = now() - interval '40 days' where user_id = ${test.person.id}`.execute(
    test.db,
  )
  const networks = ['192.0.2.0/24', '198.51.100.0/24', '203.0.113.0/24'].map((network, index) => ({
    user_id: (index === 0 ? other : test.person).id,
    network,
    signed_in_at: new Date(Date.now() - (90 + index) * 86_400_000),
  }))
  await test.db.insertInto('sign_in_networks').values(networks).execute()
  await pruneTokens(test.db)
  const sessions = await test.db
    .selectFrom('sessions')
    .select('id')
    .where('user_id', '=', test.person.id)
    .execute()
  assert.equal(sessions.length, 2, 'the login, and the session of the test')
  const kept = await test.db
    .selectFrom('sign_in_networks')
    .select('network')
    .where(({ eb }) => eb('user_id', 'in', [other.id, test.person.id]))
    .orderBy('signed_in_at')
    .execute()
  assert.deepEqual(
    kept.map(({ network }) => network),
    ['192.0.2.0/24', networkOf(test.address)],
    'the last of each user, however old',
  )
  const left = await test.db.selectFrom('tokens').select('hash').execute()
  assert.equal(
    left.some(({ hash }) => hash.equals(hashToken(old))),
    false,
  )
  const failures = await test.db.selectFrom('login_failures').select('subject').execute()
  assert.equal(
    failures.some(({ subject }) => subject.toString() === 'old'),
    false,
  )
  assert.ok(failures.length >= 2)
  for (const living of [tokens.access_token, token, test.person.token]) assert.ok(await isValid(test, living))
  assert.equal((await refresh(test, tokens.refresh_token)).status, 200)
})
