import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { sql } from 'kysely'
import { pruneTokens } from '#accounts/sessions.ts'
import { hashPassword } from '#crypto/passwords.ts'
import { hashToken } from '#crypto/tokens.ts'
import { type Answer, openTestApp } from './harness.ts'
import { createAccessToken, createPerson, type Person } from './world.ts'

const PASSWORD = 'correct horse battery'

type Tokens = { access_token: string; refresh_token: string }

const app = await openTestApp({ after })
const passwordHash = await hashPassword(PASSWORD)

/** The app that all tests share, with an account and a network address of each test's own. */
async function arrange(test = app) {
  const person = await createPerson(test.db, { passwordHash })
  return { ...test, person, address: `2001:db8::${person.id}` }
}
type Arranged = Awaited<ReturnType<typeof arrange>>

function logIn(
  test: Arranged,
  email = test.person.email,
  password = PASSWORD,
  address = test.address,
): Promise<Answer> {
  return test.request('POST', '/users/login', { body: { email, password }, address })
}

function refresh({ request }: Arranged, refresh_token: string): Promise<Answer> {
  return request('POST', '/users/refresh-token', { body: { refresh_token } })
}

async function isValid({ request }: Arranged, token: string): Promise<boolean> {
  const { status } = await request('GET', '/users/me', { token })
  assert.ok(status === 200 || status === 401)
  return status === 200
}

suite('login', () => {
  test('the right e-mail and password give tokens that work', async () => {
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

  test('tokens live as long as the settings say', async (t) => {
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

  test('no token is stored as text', async () => {
    const test = await arrange()
    const { body } = await logIn(test)
    const { rows } = await sql<{ row: string }>`select tokens::text as row from tokens`.execute(test.db)
    const stored = rows.map(({ row }) => row).join('\n')
    assert.equal(stored.includes(body.access_token), false)
    assert.equal(stored.includes(body.refresh_token), false)
  })

  test('the e-mail address is the same in upper and lower case', async () => {
    const test = await arrange()
    assert.equal((await logIn(test, test.person.email.toUpperCase())).status, 200)
  })

  test('a wrong password and an unknown e-mail get the same answer', async () => {
    const test = await arrange()
    const answers = [
      await logIn(test, test.person.email, 'wrong'),
      await logIn(test, 'nobody@example.com'),
      await logIn(test, (await createPerson(test.db)).email),
    ]
    for (const { status, body, headers } of answers) {
      assert.equal(status, 401)
      assert.equal(body.code, 'unauthenticated')
      assert.equal(body.message, 'E-mail or password is wrong.')
      assert.equal(body.errors, null)
      assert.equal(headers['retry-after'], undefined)
    }
  })

  test('a deactivated account cannot log in, and looks like an unknown one', async () => {
    const test = await arrange()
    await deactivate(test, test.person)
    const { status, body } = await logIn(test)
    assert.equal(status, 401)
    assert.equal(body.message, 'E-mail or password is wrong.')
  })

  test('missing and mistyped fields are all named', async () => {
    const { request } = await arrange()
    const { status, body } = await request('POST', '/users/login', { body: { e_mail: 'x', password: 1 } })
    assert.equal(status, 422)
    assert.deepEqual(body.errors, {
      email: ['is required'],
      e_mail: ['is not known here; known: email, password'],
      password: ['must be a string'],
    })
  })

  test('a token is not needed, and a bad one does not matter', async () => {
    const { request, person } = await arrange()
    const body = { email: person.email, password: PASSWORD }
    assert.equal((await request('POST', '/users/login', { body, token: 'gty_at_nonsense' })).status, 200)
  })
})

suite('throttling of logins', () => {
  /** Failures of the past, without the time that real ones take. */
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

  test('the eleventh wrong guess at an e-mail is turned away, whatever its case and wherever it comes from', async () => {
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

  test('a throttled e-mail is turned away with the right password too', async () => {
    const test = await arrange()
    await fail(test, test.person, 10, '14 minutes')
    assertThrottled(await logIn(test), { atMost: 60 })
  })

  test('an e-mail that no account has is throttled like one that has', async () => {
    const test = await arrange()
    await fail(test, { email: 'nobody@example.com' }, 10)
    assertThrottled(await logIn(test, 'nobody@example.com'), { atMost: 840 })
  })

  test('an address with fifty wrong guesses is turned away for every e-mail, others are not', async () => {
    const test = await arrange()
    await fail(test, { address: test.address }, 50)
    assertThrottled(await logIn(test), { atMost: 840 })
    assert.equal((await logIn(test, test.person.email, PASSWORD, `${test.address}:2`)).status, 200)
  })

  test('one guess below each limit is still answered', async () => {
    const test = await arrange()
    await fail(test, test.person, 9)
    await fail(test, { address: test.address }, 49)
    assert.equal((await logIn(test)).status, 200)
  })

  test('failures older than a quarter of an hour no longer count', async () => {
    const test = await arrange()
    await fail(test, test.person, 50, '15 minutes 1 second')
    await fail(test, { address: test.address }, 50, '15 minutes 1 second')
    assert.equal((await logIn(test)).status, 200)
  })

  test('a successful login forgives the guesses at its e-mail, not those of its address', async () => {
    const test = await arrange()
    await fail(test, test.person, 9)
    await fail(test, { address: test.address }, 49)
    assert.equal((await logIn(test)).status, 200)
    assert.equal((await logIn(test, test.person.email, 'wrong')).status, 401)
    assertThrottled(await logIn(test), { atMost: 840 })
    assert.equal((await logIn(test, test.person.email, PASSWORD, `${test.address}:2`)).status, 200)
  })

  test('guesses made all at once are not answered beyond the limit', async () => {
    const test = await arrange()
    const guesses = Array.from({ length: 25 }, (_, index) =>
      logIn(test, test.person.email, `guess ${index}`, `${test.address}:${index}`),
    )
    const statuses = (await Promise.all(guesses)).map(({ status }) => status)
    assert.equal(statuses.filter((status) => status === 401).length, 10)
    assert.equal(statuses.filter((status) => status === 429).length, 15)
  })

  test('many right logins at once all succeed', async () => {
    const test = await arrange()
    const logins = Array.from({ length: 20 }, () => logIn(test))
    for (const { status } of await Promise.all(logins)) assert.equal(status, 200)
  })

  test('the address is that of the connection unless a trusted proxy names another', async (t) => {
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

suite('refresh tokens', () => {
  test('a refresh token gives a new pair, and the old access token goes on working', async () => {
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

  test('a refresh token used twice ends the whole login: every token that came of it', async () => {
    const test = await arrange()
    const first: Tokens = (await logIn(test)).body
    const second: Tokens = (await refresh(test, first.refresh_token)).body
    const { status, body } = await refresh(test, first.refresh_token)
    assert.equal(status, 401)
    assert.equal(body.message, 'This refresh token was used before; log in again.')
    assert.equal((await refresh(test, second.refresh_token)).status, 401)
    assert.equal(await isValid(test, first.access_token), false)
    assert.equal(await isValid(test, second.access_token), false)
  })

  test('other logins of the same person are not ended with it', async () => {
    const test = await arrange()
    const other: Tokens = (await logIn(test)).body
    const first: Tokens = (await logIn(test)).body
    await refresh(test, first.refresh_token)
    await refresh(test, first.refresh_token)
    assert.ok(await isValid(test, other.access_token))
    assert.equal((await refresh(test, other.refresh_token)).status, 200)
  })

  test('of two uses at once one succeeds, and then the login is over', async () => {
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

  test('tokens that are being made while their login is ended do not outlive it', async () => {
    for (const end of ['reuse', 'logout'] as const) {
      const test = await arrange()
      const first: Tokens = (await logIn(test)).body
      const second: Tokens = (await refresh(test, first.refresh_token)).body
      // New tokens point to their user: while that row is held, their making cannot finish.
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

  /** Until so many statements of the app wait for a lock. */
  async function untilWaiting({ db }: Arranged, count: number): Promise<void> {
    for (;;) {
      const { rows } = await sql`select from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`.execute(db)
      if (rows.length >= count) return
    }
  }

  test('nothing but a living refresh token is taken', async () => {
    const test = await arrange()
    const { body: tokens } = await logIn(test)
    for (const token of [tokens.access_token, 'gty_rt_nonsense', ' ', `${tokens.refresh_token} `]) {
      const { status, body } = await refresh(test, token)
      assert.equal(status, 401)
      assert.equal(body.message, 'This refresh token is not valid; log in again.')
    }
    assert.ok(await isValid(test, tokens.access_token))
  })

  test('an expired refresh token is not taken', async () => {
    const test = await arrange()
    const { body: tokens } = await logIn(test)
    await expire(test, tokens.refresh_token)
    assert.equal((await refresh(test, tokens.refresh_token)).status, 401)
  })

  test('a refresh token of a deactivated account is not taken', async () => {
    const test = await arrange()
    const { body: tokens } = await logIn(test)
    await deactivate(test, test.person)
    assert.equal((await refresh(test, tokens.refresh_token)).status, 401)
  })
})

suite('logout', () => {
  test('logging out ends the login: access and refresh tokens, also those of before a refresh', async () => {
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

  test('other logins go on', async () => {
    const test = await arrange()
    const [one, other] = [await logIn(test), await logIn(test)]
    await test.request('POST', '/users/logout', { token: one.body.access_token })
    assert.ok(await isValid(test, other.body.access_token))
  })

  test('a personal access token that logs out ends alone', async () => {
    const test = await arrange()
    const { token } = await createToken(test, test.person)
    assert.equal((await test.request('POST', '/users/logout', { token })).status, 204)
    assert.equal(await isValid(test, token), false)
    assert.ok(await isValid(test, test.person.token))
  })

  test('a body is not needed, with or without a content type', async () => {
    const { db, request, person } = await arrange()
    const options = [{}, { body: {} }, { headers: { 'content-type': 'application/json' } }]
    for (const more of options) {
      const token = await createAccessToken(db, person.id)
      assert.equal((await request('POST', '/users/logout', { token, ...more })).status, 204)
    }
  })
})

suite('who am I', () => {
  test('me is the account of the token, without its password', async () => {
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

  test('an expired access token is refused', async () => {
    const test = await arrange()
    assert.equal(await isValid(test, await createAccessToken(test.db, test.person.id, new Date())), false)
  })

  test('a refresh token opens nothing', async () => {
    const test = await arrange()
    const { body } = await logIn(test)
    assert.equal(await isValid(test, body.refresh_token), false)
  })

  test('tokens of a deactivated account stop at once, and work again when it is back', async () => {
    const test = await arrange()
    const { token } = await createToken(test, test.person)
    await deactivate(test, test.person)
    assert.equal(await isValid(test, test.person.token), false)
    assert.equal(await isValid(test, token), false)
    await test.db.updateTable('users').set({ active: true }).where('id', '=', test.person.id).execute()
    assert.ok(await isValid(test, test.person.token))
  })

  test('whatever else stands in Authorization is 401 with a challenge', async () => {
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

  test('the scheme is the same in any case', async () => {
    const { request, person } = await arrange()
    for (const scheme of ['bearer', 'BEARER', 'Bearer  ']) {
      const headers = { authorization: `${scheme} ${person.token}` }
      assert.equal((await request('GET', '/users/me', { headers })).status, 200, scheme)
    }
  })
})

suite('personal access tokens', () => {
  test('a token is shown once, when it is made, and works', async () => {
    const test = await arrange()
    const { request, person } = test
    const made = await request('POST', '/users/personal-access-tokens', {
      token: person.token,
      body: { name: 'CI' },
    })
    assert.equal(made.status, 201)
    const { token, ...shown } = made.body
    assert.match(token, /^gty_pat_/)
    assert.equal(shown.name, 'CI')
    assert.equal(shown.expires_at, null)
    assert.equal(shown.last_used_at, null)
    const list = await request('GET', '/users/personal-access-tokens', { token: person.token })
    assert.deepEqual(list.body, [shown])
    assert.ok(await isValid(test, token))
  })

  test('the list says when a token was last used', async () => {
    const test = await arrange()
    const { token } = await createToken(test, test.person)
    await isValid(test, token)
    const { body } = await test.request('GET', '/users/personal-access-tokens', { token: test.person.token })
    assert.ok(Math.abs(Date.now() - Date.parse(body[0].last_used_at)) < 60_000)
  })

  test('the list shows the newest first, in pages', async () => {
    const test = await arrange()
    const ids: number[] = []
    for (let index = 0; index < 5; index++) ids.unshift((await createToken(test, test.person)).id)
    const page = async (query: string) => {
      const answer = await test.request('GET', `/users/personal-access-tokens?${query}`, {
        token: test.person.token,
      })
      assert.equal(answer.status, 200)
      assert.equal(answer.headers['x-total-count'], '5')
      const relations = [...answer.headers.link!.matchAll(/[?&]page=(\d+)>; rel="(\w+)"/g)]
      return {
        ids: answer.body.map(({ id }: { id: number }) => id),
        links: Object.fromEntries(relations.map(([, number, relation]) => [relation, Number(number)])),
      }
    }
    assert.deepEqual(await page(''), { ids, links: { first: 1, last: 1 } })
    assert.deepEqual(await page('per_page=2'), {
      ids: ids.slice(0, 2),
      links: { first: 1, next: 2, last: 3 },
    })
    assert.deepEqual(await page('per_page=2&page=3'), {
      ids: ids.slice(4),
      links: { first: 1, prev: 2, last: 3 },
    })
    assert.deepEqual(await page('per_page=2&page=9'), { ids: [], links: { first: 1, prev: 3, last: 3 } })
  })

  test('a revoked token works no more and leaves the list; a second time there is nothing to revoke', async () => {
    const test = await arrange()
    const { request, person } = test
    const { id, token } = await createToken(test, person)
    const revoke = () => request('DELETE', `/users/personal-access-tokens/${id}`, { token: person.token })
    assert.equal((await revoke()).status, 204)
    assert.equal(await isValid(test, token), false)
    assert.deepEqual(
      (await request('GET', '/users/personal-access-tokens', { token: person.token })).body,
      [],
    )
    assert.equal((await revoke()).status, 404)
  })

  test('the tokens of somebody else are neither listed nor revoked', async () => {
    const test = await arrange()
    const { request, person } = test
    const stranger = await createPerson(test.db)
    const { id, token } = await createToken(test, person)
    const list = await request('GET', '/users/personal-access-tokens', { token: stranger.token })
    assert.deepEqual(list.body, [])
    const answer = await request('DELETE', `/users/personal-access-tokens/${id}`, { token: stranger.token })
    assert.equal(answer.status, 404)
    assert.ok(await isValid(test, token))
  })

  test('an access token of a login cannot be revoked as a personal one', async () => {
    const test = await arrange()
    const { request, person } = test
    const { id } = await test.db
      .selectFrom('tokens')
      .select('id')
      .where('user_id', '=', person.id)
      .executeTakeFirstOrThrow()
    const answer = await request('DELETE', `/users/personal-access-tokens/${id}`, { token: person.token })
    assert.equal(answer.status, 404)
    assert.ok(await isValid(test, person.token))
  })

  test('a token stops working at the time that was set for it', async () => {
    const test = await arrange()
    const expires_at = new Date(Date.now() + 3_600_000).toISOString()
    const made = await createToken(test, test.person, { expires_at })
    assert.equal(made.expires_at, expires_at)
    assert.ok(await isValid(test, made.token))
    await expire(test, made.token)
    assert.equal(await isValid(test, made.token), false)
  })

  test('every way of writing a time of the future is taken and shown in UTC', async () => {
    const test = await arrange()
    const forms = [
      ['2040-05-06T07:08:09Z', '2040-05-06T07:08:09.000Z'],
      ['2040-05-06T07:08:09.12345+02:00', '2040-05-06T05:08:09.123Z'],
      ['2040-05-06T07:08:09+23:00', '2040-05-05T08:08:09.000Z'],
      ['9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'],
    ]
    for (const [expires_at, shown] of forms) {
      assert.equal((await createToken(test, test.person, { expires_at })).expires_at, shown)
    }
  })

  test('a time that is past, too far or none at all is refused', async () => {
    const { request, person } = await arrange()
    for (const expires_at of [
      '2020-01-01T00:00:00Z',
      '0000-01-01T00:00:00Z',
      '9999-12-31T23:59:59-10:00',
      '2040-02-30T00:00:00Z',
      '2040-12-31T23:59:60Z',
      '2040-01-01',
      'tomorrow',
      '',
      4_102_444_800,
    ]) {
      const body = { name: 'x', expires_at }
      const answer = await request('POST', '/users/personal-access-tokens', { token: person.token, body })
      assert.equal(answer.status, 422, String(expires_at))
      assert.deepEqual(Object.keys(answer.body.errors), ['expires_at'])
    }
  })

  test('a token needs a name of 1 to 60 characters', async () => {
    const { request, person } = await arrange()
    for (const name of ['', 'x'.repeat(61), null, 1]) {
      const answer = await request('POST', '/users/personal-access-tokens', {
        token: person.token,
        body: { name },
      })
      assert.equal(answer.status, 422)
      assert.deepEqual(Object.keys(answer.body.errors), ['name'])
    }
    const longest = { token: person.token, body: { name: '😀'.repeat(60) } }
    assert.equal((await request('POST', '/users/personal-access-tokens', longest)).status, 201)
  })
})

test('pruning removes what can never be used again and nothing else', async () => {
  const test = await arrange()
  const { body: tokens } = await logIn(test)
  const { token } = await createToken(test, test.person)
  await logIn(test, test.person.email, 'wrong')
  await sql`insert into login_failures (subject, failed_at) values ('old', now() - interval '2 days')`.execute(
    test.db,
  )
  const old = await createAccessToken(test.db, test.person.id, new Date(Date.now() - 2 * 86_400_000))
  await pruneTokens(test.db)
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

async function createToken({ request }: Arranged, person: Person, more: { expires_at?: string } = {}) {
  const { status, body } = await request('POST', '/users/personal-access-tokens', {
    token: person.token,
    body: { name: 'CI', ...more },
  })
  assert.equal(status, 201, JSON.stringify(body))
  return body as { id: number; token: string; expires_at: string | null }
}

async function expire({ db }: Arranged, token: string): Promise<void> {
  await db
    .updateTable('tokens')
    .set({ expires_at: sql<string>`now() - interval '1 second'` })
    .where('hash', '=', hashToken(token))
    .execute()
}

async function deactivate({ db }: Arranged, person: Person): Promise<void> {
  await db.updateTable('users').set({ active: false }).where('id', '=', person.id).execute()
}
