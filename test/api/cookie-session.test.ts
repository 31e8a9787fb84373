// Cookie sessions: sign-in, lifetime, and CSRF protection.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { sql } from 'kysely'
import { hashPassword } from '#platform/crypto/passwords.ts'
import { hashToken } from '#platform/crypto/tokens.ts'
import { type Answer, openTestApp, TEST_BASE_URL } from '#test/support/harness.ts'
import { createRun, listen } from '#test/support/streams.ts'
import { createAccessToken, createPerson, createTestTree } from '#test/support/world.ts'

const PASSWORD = 'correct horse battery'
const OWN = { 'x-gantry-request': '1' }
const passwordHash = await hashPassword(PASSWORD)
const shared = await openTestApp({ after }, { live: { recheckMs: 50 } })
const { db, request } = shared

/** A user who has just signed in, from their own network address. */
async function signIn() {
  const person = await createPerson(db, { passwordHash })
  const address = `2001:db8:1::${person.id}`
  const answer = await request('POST', '/session', {
    body: { email: person.email, password: PASSWORD },
    address,
  })
  assert.equal(answer.status, 200)
  const token = tokenIn(answer)
  return { person, address, answer, token, cookie: `gantry_session=${token}` }
}

const tokenIn = ({ headers }: Answer) => /^gantry_session=([^;]*)/.exec(String(headers['set-cookie']))![1]!

const asking = (cookie: string, more: Record<string, string> = {}) => ({ headers: { cookie, ...more } })

/** The remaining lifetime of the stored token. */
async function secondsLeft(token: string): Promise<number> {
  const { rows } = await sql<{ seconds: number }>`
    select extract(epoch from expires_at - now())::int as seconds from tokens where hash = ${hashToken(token)}`.execute(
    db,
  )
  return rows[0]!.seconds
}

/** Makes the session look as if it had been opened, and last renewed, that long ago. */
async function grow(token: string, { openedAgo, left }: { openedAgo: string; left: string }): Promise<void> {
  await sql`
    update tokens set created_at = now() - ${openedAgo}::interval, expires_at = now() + ${left}::interval
    where hash = ${hashToken(token)}`.execute(db)
}

suite('signing in', () => {
  test('the cookie is inaccessible to scripts and other sites', async () => {
    const { person, answer, token, cookie } = await signIn()
    const attributes = String(answer.headers['set-cookie']).split('; ').slice(1)
    assert.deepEqual(attributes, ['Path=/', 'Max-Age=43200', 'HttpOnly', 'SameSite=Strict'])
    assert.match(token, /^gty_at_/)
    assert.equal(answer.headers['cache-control'], 'no-store')
    assert.deepEqual(Object.keys(answer.body), ['user', 'is_instance_admin', 'base_url', 'expires_at'])
    assert.equal(answer.body.user.email, person.email)
    assert.ok(!answer.text.includes(token))

    const mine = await request('GET', '/session', asking(cookie))
    assert.equal(mine.status, 200)
    assert.deepEqual(mine.body, answer.body)
    assert.equal((await request('GET', '/users/me', asking(cookie))).body.id, person.id)
  })

  test('an incorrect password sets no cookie, and counts like one of the other login', async () => {
    const person = await createPerson(db, { passwordHash })
    const guess = (url: string, number: number) =>
      request('POST', url, {
        body: { email: person.email, password: `guess ${number}` },
        address: `2001:db8:2::${number}`,
      })
    for (let number = 0; number < 10; number++) {
      const answer = await guess(number % 2 === 0 ? '/session' : '/users/login', number)
      assert.equal(answer.status, 401)
      assert.equal(answer.headers['set-cookie'], undefined)
    }
    const throttled = await guess('/session', 10)
    assert.equal(throttled.status, 429)
    assert.ok(Number(throttled.headers['retry-after']) > 0)
  })

  test('all errors of the body are reported at once', async () => {
    const { status, body } = await request('POST', '/session', { body: { email: '', remember: true } })
    assert.equal(status, 422)
    assert.deepEqual(Object.keys(body.errors).sort(), ['email', 'password', 'remember'])
  })

  test('a page of another site cannot sign a user in', async () => {
    const { person, address } = await signIn()
    const body = { email: person.email, password: PASSWORD }
    const foreign: Record<string, string>[] = [
      { origin: 'https://evil.test' },
      { 'sec-fetch-site': 'cross-site' },
    ]
    for (const headers of foreign) {
      const answer = await request('POST', '/session', { body, address, headers })
      assert.equal(answer.status, 403)
      assert.equal(answer.headers['set-cookie'], undefined)
    }
  })
})

suite('signing out', () => {
  test('ends the session and clears the cookie', async () => {
    const { cookie } = await signIn()
    const answer = await request('DELETE', '/session', asking(cookie, OWN))
    assert.equal(answer.status, 204)
    assert.equal(
      String(answer.headers['set-cookie']),
      'gantry_session=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict',
    )
    assert.equal((await request('GET', '/session', asking(cookie))).status, 401)
  })

  test('clears the cookie although it was due for renewal', async () => {
    const { cookie, token } = await signIn()
    await grow(token, { openedAgo: '11 hours', left: '1 hour' })
    const answer = await request('DELETE', '/session', asking(cookie, OWN))
    assert.match(String(answer.headers['set-cookie']), /^gantry_session=; /)
  })

  test('is 401 without a session', async () => {
    assert.equal((await request('DELETE', '/session', { headers: OWN })).status, 401)
  })
})

suite('the life of a session', () => {
  test('is not renewed in its first half', async () => {
    const { cookie, token } = await signIn()
    await grow(token, { openedAgo: '5 hours', left: '7 hours' })
    const answer = await request('GET', '/users/me', asking(cookie))
    assert.equal(answer.headers['set-cookie'], undefined)
    assert.ok((await secondsLeft(token)) <= 7 * 3_600)
  })

  test('is renewed by use in its second half, with the cookie', async () => {
    const { cookie, token } = await signIn()
    await grow(token, { openedAgo: '7 hours', left: '5 hours' })
    const answer = await request('GET', '/users/me', asking(cookie))
    assert.equal(tokenIn(answer), token)
    assert.match(String(answer.headers['set-cookie']), /Max-Age=43(200|199);/)
    assert.ok((await secondsLeft(token)) > 11 * 3_600)
    assert.equal(answer.headers['cache-control'], 'no-store')
  })

  test('is never longer than that of a login, however often it is used', async () => {
    const { cookie, token } = await signIn()
    await grow(token, { openedAgo: '29 days 20 hours', left: '1 hour' })
    const answer = await request('GET', '/users/me', asking(cookie))
    const left = await secondsLeft(token)
    assert.ok(left > 3.9 * 3_600 && left <= 4 * 3_600, String(left))
    assert.match(String(answer.headers['set-cookie']), /Max-Age=14[34]\d\d;/)
    const again = await request('GET', '/users/me', asking(cookie))
    assert.equal(again.headers['set-cookie'], undefined)
  })

  test('ends when it is not used in time', async () => {
    const { cookie, token } = await signIn()
    await grow(token, { openedAgo: '13 hours', left: '-1 second' })
    assert.equal((await request('GET', '/users/me', asking(cookie))).status, 401)
  })

  test("of a program's token is not extended, in a cookie or a header", async () => {
    const { id } = await createPerson(db)
    const token = await createAccessToken(db, id, new Date(Date.now() + 60_000))
    assert.equal((await request('GET', '/users/me', asking(`gantry_session=${token}`))).status, 200)
    assert.equal((await request('GET', '/users/me', { token })).status, 200)
    assert.ok((await secondsLeft(token)) <= 60)
  })

  test('is not extended by a request that fails the CSRF check', async () => {
    const { cookie, token } = await signIn()
    await grow(token, { openedAgo: '11 hours', left: '1 hour' })
    assert.equal((await request('DELETE', '/session', asking(cookie))).status, 403)
    assert.ok((await secondsLeft(token)) <= 3_600)
  })
})

suite('changing something by a cookie', () => {
  const change = (cookie: string, headers: Record<string, string>) =>
    request('POST', '/users/personal-access-tokens', { body: { name: 'CI' }, ...asking(cookie, headers) })

  const FORBIDDEN: [why: string, headers: Record<string, string>][] = [
    ['without the header that forms cannot send', {}],
    ['with another value in it', { 'x-gantry-request': 'true' }],
    ['for a page of another site', { ...OWN, 'sec-fetch-site': 'cross-site' }],
    ['for a page of a neighbor', { ...OWN, 'sec-fetch-site': 'same-site' }],
    ['for another origin', { ...OWN, origin: 'https://evil.test' }],
    ['for another port', { ...OWN, origin: 'http://gantry.test:8080' }],
    ['for a page that hides where it is from', { ...OWN, origin: 'null' }],
  ]
  for (const [why, headers] of FORBIDDEN) {
    test(`is rejected ${why}`, async () => {
      const { cookie, person } = await signIn()
      const answer = await change(cookie, headers)
      assert.equal(answer.status, 403)
      assert.equal(answer.body.code, 'forbidden')
      const tokens = await request('GET', '/users/personal-access-tokens', { token: person.token })
      assert.deepEqual(tokens.body, [])
    })
  }

  const ALLOWED: [who: string, headers: Record<string, string>][] = [
    ['a caller that is no browser', OWN],
    ['our own page', { ...OWN, origin: TEST_BASE_URL, 'sec-fetch-site': 'same-origin' }],
    [
      'our page under the name by which it was asked for',
      { ...OWN, origin: 'http://box:7070', host: 'box:7070' },
    ],
  ]
  for (const [who, headers] of ALLOWED) {
    test(`is allowed to ${who}`, async () => {
      const { cookie } = await signIn()
      assert.equal((await change(cookie, headers)).status, 201)
    })
  }

  test('a missing object is 404 before it is 403', async () => {
    const { cookie } = await signIn()
    assert.equal((await request('POST', '/actions/999999/cancel', asking(cookie))).status, 404)
  })

  test('a token in the header requires none of this, and takes precedence over the cookie', async () => {
    const { cookie } = await signIn()
    const other = await createPerson(db)
    const both = { ...asking(cookie), token: other.token }
    assert.equal((await request('GET', '/users/me', both)).body.id, other.id)
    const body = { name: 'CI' }
    const made = await request('POST', '/users/personal-access-tokens', { ...both, body })
    assert.equal(made.status, 201)
    assert.equal(made.headers['set-cookie'], undefined)
  })

  test('an invalid token in the header is not replaced by the cookie', async () => {
    const { cookie } = await signIn()
    for (const authorization of ['Bearer gty_at_unknown', 'Basic abc', 'Bearer', '']) {
      assert.equal((await request('GET', '/users/me', asking(cookie, { authorization }))).status, 401)
    }
  })

  test('two session cookies authenticate nobody', async () => {
    const { cookie } = await signIn()
    const other = await signIn()
    for (const both of [`${cookie}; ${other.cookie}`, `gantry_session=; ${cookie}`]) {
      assert.equal((await request('GET', '/session', asking(both))).status, 401)
    }
    assert.equal((await request('GET', '/session', asking(`a=b; ${cookie}; c="d"`))).status, 200)
  })
})

suite('over https', () => {
  const secure = openTestApp({ after }, { beside: shared, baseUrl: () => 'https://gantry.test/below' })
  const cookiesIn = ({ headers }: Answer) => [headers['set-cookie'] ?? []].flat()
  const FLAGS = 'HttpOnly; SameSite=Strict; Secure'
  const FORGET_OLD = `gantry_session=; Path=/; Max-Age=0; ${FLAGS}`

  test('no other host of the domain can set the cookie: its name has the prefix __Host-', async () => {
    const { person, address } = await signIn()
    const body = { email: person.email, password: PASSWORD }
    const answer = await (await secure).request('POST', '/session', { body, address })
    const [written, ...others] = cookiesIn(answer)
    const [, token] = /^__Host-gantry_session=(gty_at_[^;]+); (.*)$/.exec(written!)!
    assert.equal(written, `__Host-gantry_session=${token}; Path=/; Max-Age=43200; ${FLAGS}`)
    assert.deepEqual(others, [FORGET_OLD])
    const cookie = `__Host-gantry_session=${token}`
    assert.equal((await (await secure).request('GET', '/session', asking(cookie))).status, 200)
    const out = await (await secure).request('DELETE', '/session', asking(cookie, OWN))
    assert.deepEqual(cookiesIn(out), [`__Host-gantry_session=; Path=/; Max-Age=0; ${FLAGS}`, FORGET_OLD])
  })

  test('a cookie with the earlier name works, and gets the new name when it is renewed', async () => {
    const { cookie, token } = await signIn()
    const early = await (await secure).request('GET', '/session', asking(cookie))
    assert.deepEqual([early.status, cookiesIn(early)], [200, []])
    await grow(token, { openedAgo: '7 hours', left: '5 hours' })
    const answer = await (await secure).request('GET', '/session', asking(cookie))
    const [written, ...others] = cookiesIn(answer)
    assert.match(written!, new RegExp(`^__Host-gantry_session=${token}; Path=/; Max-Age=43(200|199); `))
    assert.deepEqual(others, [FORGET_OLD])
  })

  test('a cookie with the prefix takes precedence, also when it is not valid', async () => {
    const [mine, planted] = [await signIn(), await signIn()]
    const both = `${planted.cookie}; __Host-${mine.cookie}`
    const answer = await (await secure).request('GET', '/users/me', asking(both))
    assert.equal(answer.body.id, mine.person.id)
    const ended = `${planted.cookie}; __Host-gantry_session=gty_at_ended`
    assert.equal((await (await secure).request('GET', '/users/me', asking(ended))).status, 401)
  })
})

test('event streams accept the cookie, and close when the session ends', async () => {
  const tree = await createTestTree(db)
  await sql`update users set password_hash = ${passwordHash} where id = ${tree.owner.id}`.execute(db)
  const signedIn = await request('POST', '/session', {
    body: { email: tree.owner.email, password: PASSWORD },
    address: '2001:db8:3::1',
  })
  const cookie = `gantry_session=${tokenIn(signedIn)}`
  const host = await listen(shared)
  const run = await createRun(db, tree)
  const deadline = AbortSignal.timeout(20_000)
  for (const path of [`/actions/${run.actionId}/stream`, '/actions/stream']) {
    assert.equal((await fetch(host + path, { headers: { accept: 'text/event-stream' } })).status, 401)
  }
  const streams = await Promise.all(
    [`/actions/${run.actionId}/stream`, '/actions/stream'].map((path) =>
      fetch(host + path, { headers: { accept: 'text/event-stream', cookie }, signal: deadline }),
    ),
  )
  assert.deepEqual(
    streams.map(({ status }) => status),
    [200, 200],
  )
  const texts = streams.map((stream) => stream.text())
  assert.equal((await request('DELETE', '/session', asking(cookie, OWN))).status, 204)
  for (const text of await Promise.all(texts)) assert.match(text, /^retry: /)
})
