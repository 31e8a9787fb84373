// Single sign-on against a real OpenID Connect provider.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { sql } from 'kysely'
import { pino } from 'pino'
import { hashPassword } from '#platform/crypto/passwords.ts'
import { openTestApp, TEST_BASE_URL, type TestApp } from '#test/support/harness.ts'
import { cancelAt, signInAt, startIdentityProvider } from '#test/support/identity-provider.ts'
import { assertRefused } from '#test/support/refusals.ts'
import {
  assertProblem,
  begin,
  beginLink,
  comeBack,
  dumpDatabase,
  failuresFrom,
  meBy,
  OWN_PAGE,
  REDIRECT_URI,
  sessionOf,
} from '#test/support/single-sign-on.ts'
import { createPerson } from '#test/support/world.ts'

const provider = await startIdentityProvider({ after }, REDIRECT_URI)
const logged: string[] = []
const log = pino({ level: 'trace' }, { write: (line: string) => void logged.push(line) })
const environment = { ...provider.environment, GANTRY_OIDC_LABEL: 'Acme login' }
const closed = await openTestApp({ after }, { environment, log })
const open = await openTestApp(
  { after },
  { environment: { ...environment, GANTRY_OIDC_SIGNUP: 'true' }, beside: closed, log },
)
const off = await openTestApp({ after })

let counter = 0
/** A person at the provider whom Gantry does not know. */
function newcomer(claims: Parameters<typeof provider.people.set>[1] = {}) {
  const login = `newcomer${++counter}`
  const person = { email: `${login}@example.com`, name: `New ${login}`, ...claims }
  provider.people.set(login, person)
  return { login, ...person, address: `198.51.${counter}.1` }
}

async function signIn(app: TestApp, login: string, address?: string) {
  const { url, cookie } = await begin(app, {}, address)
  return comeBack(app, await signInAt(url, login), cookie, address)
}

async function link(app: TestApp, token: string, login: string) {
  const { url, cookie } = await beginLink(app, token)
  return comeBack(app, await signInAt(url, login), cookie)
}

/** An account that is linked to a person at the provider. */
async function linked(options: Parameters<typeof createPerson>[1] = {}) {
  const [person, { login, address }] = [await createPerson(closed.db, options), newcomer()]
  const answer = await link(closed, person.token, login)
  assert.equal(answer.headers.location, `${TEST_BASE_URL}/app/account`)
  return { ...person, login, address }
}

async function verbsAbout(userId: number): Promise<string[]> {
  const rows = await closed.db
    .selectFrom('audit_entries')
    .select('verb')
    .where('subject_type', '=', 'user')
    .where('subject_id', '=', String(userId))
    .orderBy('id')
    .execute()
  return rows.map(({ verb }) => verb)
}

suite('ways to sign in', () => {
  test('the options name the button, or say that there is none', async () => {
    const { body } = await closed.request('GET', '/session/options')
    assert.deepEqual(body, { password: true, oidc: { label: 'Acme login' } })
    assert.deepEqual((await off.request('GET', '/session/options')).body, { password: true, oidc: null })
  })

  test('without a provider nothing can begin, and a callback explains itself', async () => {
    const person = await createPerson(off.db)
    assertRefused(await off.request('POST', '/session/oidc', { headers: OWN_PAGE, body: {} }), 'not_found')
    assertRefused(await off.request('POST', '/users/me/identities', { token: person.token }), 'not_found')
    assertProblem(await comeBack(off, `${REDIRECT_URI}?code=x&state=y`), 'sso_unavailable')
  })

  test('passwords can be turned off; sessions that exist go on', async () => {
    const app = await openTestApp(
      { after },
      { environment: { ...environment, GANTRY_PASSWORD_LOGIN: 'false' }, beside: closed },
    )
    const passwordHash = await hashPassword('correct horse battery')
    const person = await createPerson(app.db, { passwordHash })
    const admin = await createPerson(app.db, { admin: true })
    const password = 'correct horse battery'
    const calls: [string, object | undefined, string?][] = [
      ['/users/login', { email: person.email, password }],
      ['/session', { email: person.email, password }],
      ['/users/me/password', { current_password: password, new_password: `new ${password}` }, person.token],
      [`/users/${person.id}/password-reset`, undefined, admin.token],
      ['/users/read-password-reset', { token: 'gty_rs_x' }],
      ['/users/reset-password', { token: 'gty_rs_x', password }],
      ['/users/accept-invitation', { token: 'gty_in_x', password }],
    ]
    for (const [url, body, token] of calls) {
      const answer = await app.request('POST', url, { body, token })
      assertRefused(answer, 'forbidden')
      assert.match(answer.body.message, /single sign-on/)
    }
    assert.deepEqual((await app.request('GET', '/session/options')).body.password, false)
    assert.equal((await app.request('GET', '/users/me', { token: person.token })).status, 200)
  })
})

suite('signing in', () => {
  test('a linked person gets a session in a cookie that other sites cannot use', async () => {
    const person = await linked()
    const answer = await signIn(closed, person.login)
    assert.equal((await meBy(closed, sessionOf(answer))).id, person.id)
    const cookies = [answer.headers['set-cookie']].flat()
    assert.deepEqual(
      cookies.map((cookie) => cookie?.replace(/=gty_[^;]*/, '=…')),
      [
        'gantry_sign_in=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax',
        'gantry_session=…; Path=/; Max-Age=43200; HttpOnly; SameSite=Strict',
      ],
    )
    assert.equal(answer.headers['cache-control'], 'no-store')
    assert.deepEqual(await verbsAbout(person.id), ['identity_linked', 'signed_in'])
  })

  test('the browser goes to the provider with PKCE, a state and a nonce', async () => {
    const answer = await closed.request('POST', '/session/oidc', { headers: OWN_PAGE, body: {} })
    const { searchParams } = new URL(answer.body.url)
    assert.equal(searchParams.get('redirect_uri'), REDIRECT_URI)
    assert.equal(searchParams.get('response_type'), 'code')
    assert.equal(searchParams.get('code_challenge_method'), 'S256')
    for (const name of ['state', 'nonce', 'code_challenge'])
      assert.match(searchParams.get(name) ?? '', /^[\w-]{43}$/)
    const attributes = String(answer.headers['set-cookie']).split('; ').slice(1)
    assert.deepEqual(attributes, ['Path=/', 'Max-Age=600', 'HttpOnly', 'SameSite=Lax'])
  })

  test('another site cannot begin a sign-in', async () => {
    for (const headers of [{}, { ...OWN_PAGE, origin: 'https://evil.example' }] as Record<string, string>[]) {
      assertRefused(await closed.request('POST', '/session/oidc', { headers, body: {} }), 'forbidden')
    }
  })

  test('somebody unknown is turned away while sign-up is off, and nothing is stored', async () => {
    const { login, email, address } = newcomer()
    assertProblem(await signIn(closed, login, address), 'sso_no_account')
    const users = await closed.db.selectFrom('users').select('id').where('email', '=', email).execute()
    assert.deepEqual(users, [])
    const [failure] = await failuresFrom(closed, address)
    assert.deepEqual(failure, {
      subject_type: 'user',
      subject_id: 'unknown',
      after: { method: 'oidc', reason: 'no_account' },
      organization_id: null,
    })
  })

  test('with sign-up the first sign-in creates an account without any rights, later ones find it', async () => {
    const { login, email, name } = newcomer()
    const first = await meBy(open, sessionOf(await signIn(open, login)))
    assert.deepEqual([first.email, first.name], [email, name])
    provider.people.set(login, { email: 'changed@example.com', name: 'Changed' })
    const second = await meBy(open, sessionOf(await signIn(open, login)))
    assert.deepEqual(second, first)
    const stored = await open.db
      .selectFrom('users')
      .selectAll()
      .where('id', '=', first.id)
      .executeTakeFirstOrThrow()
    assert.equal(stored.is_instance_admin, false)
    assert.equal(stored.password_hash, null)
    assert.deepEqual(await verbsAbout(first.id), ['identity_linked', 'signed_in', 'signed_in'])
  })

  test('two first sign-ins at once create one account', async () => {
    const { login } = newcomer()
    const tabs = await Promise.all([begin(open), begin(open)])
    const callbacks = await Promise.all(tabs.map(({ url }) => signInAt(url, login)))
    const answers = await Promise.all(tabs.map(({ cookie }, tab) => comeBack(open, callbacks[tab]!, cookie)))
    const [one, two] = await Promise.all(answers.map((answer) => meBy(open, sessionOf(answer))))
    assert.equal(one!.id, two!.id)
  })

  test('an account is never linked by its email address', async () => {
    const person = await createPerson(open.db)
    const { login, address } = newcomer({ email: person.email.toUpperCase(), email_verified: true })
    assertProblem(await signIn(open, login, address), 'sso_email_taken')
    assert.deepEqual(await verbsAbout(person.id), [])
    assert.equal((await failuresFrom(open, address)).length, 1)
  })

  test('sign-up takes an email address that the provider vouches for', async () => {
    for (const claims of [
      { email: undefined },
      { email: 'ad\u202Emin@example.com' },
      { email: 'ÄDA@example.com' },
      { email: 'no address' },
      { email: `${'x'.repeat(250)}@example.com` },
    ]) {
      const { login, address } = newcomer(claims)
      assertProblem(await signIn(open, login, address), 'sso_rejected')
      assert.deepEqual((await failuresFrom(open, address))[0]!.after, { method: 'oidc', reason: 'no_email' })
    }
  })

  test('sign-up takes an email address only if the provider says that it is verified', async () => {
    for (const email_verified of [undefined, null, false, 'false', 'yes', 1, {}]) {
      const { login, address } = newcomer({ email_verified })
      assertProblem(await signIn(open, login, address), 'sso_rejected')
      const reason = 'unverified_email'
      assert.deepEqual((await failuresFrom(open, address))[0]!.after, { method: 'oidc', reason })
    }
    // Some providers send the word.
    for (const email_verified of [true, 'true']) {
      const { login, email } = newcomer({ email_verified })
      assert.equal((await meBy(open, sessionOf(await signIn(open, login)))).email, email)
    }
  })

  test('GANTRY_OIDC_TRUST_EMAIL takes addresses about which the provider says nothing, and no others', async () => {
    const trusting = { ...environment, GANTRY_OIDC_SIGNUP: 'true', GANTRY_OIDC_TRUST_EMAIL: 'true' }
    const app = await openTestApp({ after }, { environment: trusting, beside: closed })
    const { login, email } = newcomer({ email_verified: undefined })
    assert.equal((await meBy(app, sessionOf(await signIn(app, login)))).email, email)
    const other = newcomer({ email_verified: false })
    assertProblem(await signIn(app, other.login, other.address), 'sso_rejected')
  })

  test('a name from the provider is stored as one harmless line', async () => {
    const names: [string, string][] = [
      ['  Ada\nLovelace\u202e ', 'Ada Lovelace'],
      ['\u0000\u0007', ''],
      ['x'.repeat(300), 'x'.repeat(255)],
    ]
    for (const [name, expected] of names) {
      const { login } = newcomer({ name })
      const me = await meBy(open, sessionOf(await signIn(open, login)))
      assert.equal(me.name, expected || login)
    }
  })

  test('a deactivated account stays out', async () => {
    const person = await linked()
    await closed.db.updateTable('users').set({ active: false }).where('id', '=', person.id).execute()
    assertProblem(await signIn(closed, person.login, person.address), 'sso_rejected')
    const [failure] = await failuresFrom(closed, person.address)
    assert.equal(failure!.subject_id, String(person.id))
  })
})

suite('linking', () => {
  test('identities are listed by the label of their provider', async () => {
    const { token } = await linked()
    const { body } = await closed.request('GET', '/users/me/identities', { token })
    assert.equal(body.length, 1)
    const { id, created_at, last_used_at, ...rest } = body[0]
    assert.deepEqual(rest, { issuer: provider.issuer, label: 'Acme login' })
    assert.ok(id > 0 && created_at && last_used_at)
  })

  test('an identity belongs to one account', async () => {
    const [first, second] = [await linked(), await createPerson(closed.db)]
    assertProblem(await link(closed, second.token, first.login), 'sso_identity_taken', 'account')
    assert.deepEqual((await closed.request('GET', '/users/me/identities', { token: second.token })).body, [])
    assert.equal((await meBy(closed, sessionOf(await signIn(closed, first.login)))).id, first.id)
  })

  test('linking the same identity again changes nothing', async () => {
    const person = await linked()
    assert.equal(
      (await link(closed, person.token, person.login)).headers.location,
      `${TEST_BASE_URL}/app/account`,
    )
    assert.equal(
      (await closed.request('GET', '/users/me/identities', { token: person.token })).body.length,
      1,
    )
  })

  test('nothing is linked to an account whose session has ended meanwhile', async () => {
    const [person, { login }] = [await createPerson(closed.db), newcomer()]
    const { url, cookie } = await beginLink(closed, person.token)
    await closed.request('POST', '/users/logout', { token: person.token })
    assertProblem(await comeBack(closed, await signInAt(url, login), cookie), 'sso_expired', 'account')
    const rows = await closed.db
      .selectFrom('identities')
      .select('id')
      .where('user_id', '=', person.id)
      .execute()
    assert.deepEqual(rows, [])
  })

  test('the last way to sign in cannot be unlinked', async () => {
    const person = await linked()
    const { token } = person
    const [{ id: first }] = (await closed.request('GET', '/users/me/identities', { token })).body
    const remove = (id: number) => closed.request('DELETE', `/users/me/identities/${id}`, { token })
    assertRefused(await remove(first), 'conflict')
    await link(closed, token, newcomer().login)
    const [{ id: second }] = (await closed.request('GET', '/users/me/identities', { token })).body
    const statuses = (await Promise.all([remove(first), remove(second)])).map(({ status }) => status)
    assert.deepEqual(statuses.sort(), [204, 409])
  })

  test('with a password every identity can be unlinked, and signs in no more', async () => {
    const person = await linked({ passwordHash: await hashPassword('correct horse battery') })
    const { token } = person
    const [{ id }] = (await closed.request('GET', '/users/me/identities', { token })).body
    const other = await createPerson(closed.db)
    const remove = (by: string) => closed.request('DELETE', `/users/me/identities/${id}`, { token: by })
    assertRefused(await remove(other.token), 'not_found')
    assert.equal((await remove(token)).status, 204)
    assertRefused(await remove(token), 'not_found')
    assertProblem(await signIn(closed, person.login), 'sso_no_account')
    assert.deepEqual(await verbsAbout(person.id), ['identity_linked', 'identity_unlinked'])
  })
})

suite('attempts', () => {
  const reasons = async (address: string) =>
    (await failuresFrom(closed, address)).map(({ after }) => (after as { reason: string }).reason)

  test('each works once: the URL that came back is worth nothing afterwards', async () => {
    const person = await linked()
    const { url, cookie } = await begin(closed)
    const callback = await signInAt(url, person.login)
    sessionOf(await comeBack(closed, callback, cookie))
    assertProblem(await comeBack(closed, callback, cookie, person.address), 'sso_expired')
    assert.deepEqual(await reasons(person.address), ['unknown_state'])
  })

  test('a code that was used is worth nothing in another attempt', async () => {
    const person = await linked()
    const first = await begin(closed)
    const callback = new URL(await signInAt(first.url, person.login))
    sessionOf(await comeBack(closed, callback.href, first.cookie))
    const second = await begin(closed)
    callback.searchParams.set('state', new URL(second.url).searchParams.get('state')!)
    assertProblem(await comeBack(closed, callback.href, second.cookie, person.address), 'sso_rejected')
    assert.deepEqual(await reasons(person.address), ['provider_invalid_grant'])
  })

  test('a code is worth nothing in the browser of somebody else', async () => {
    const person = await linked()
    const [own, foreign] = [await begin(closed), await begin(closed)]
    const callback = await signInAt(own.url, person.login)
    assertProblem(await comeBack(closed, callback, foreign.cookie, person.address), 'sso_expired')
    // The attempt is used up: its browser cannot finish it either.
    assertProblem(await comeBack(closed, callback, own.cookie, person.address), 'sso_expired')
    assert.deepEqual(await reasons(person.address), ['wrong_cookie', 'unknown_state'])
  })

  test('a callback without its cookie, or with another state, is refused', async () => {
    const person = await linked()
    const { url, cookie } = await begin(closed)
    const callback = new URL(await signInAt(url, person.login))
    const changed = new URL(callback)
    changed.searchParams.set('state', 'x'.repeat(43))
    const twice = new URL(callback)
    twice.searchParams.append('state', callback.searchParams.get('state')!)
    for (const wrong of [changed.href, twice.href, REDIRECT_URI, `${REDIRECT_URI}?state=%ff&code[]=1`])
      assertProblem(await comeBack(closed, wrong, cookie, person.address), 'sso_expired')
    assertProblem(await comeBack(closed, callback.href, undefined, person.address), 'sso_expired')
    assert.deepEqual(await reasons(person.address), [...Array(4).fill('unknown_state'), 'missing_cookie'])
  })

  test('an attempt ends after ten minutes', async () => {
    const person = await linked()
    const { url, cookie } = await begin(closed)
    const callback = await signInAt(url, person.login)
    await closed.db
      .updateTable('oidc_attempts')
      .set({ expires_at: sql<string>`expires_at - interval '10 minutes'` })
      .execute()
    assertProblem(await comeBack(closed, callback, cookie, person.address), 'sso_expired')
    assert.deepEqual(await reasons(person.address), ['expired_attempt'])
  })

  test('somebody who cancels at the provider is back at the sign-in page', async () => {
    const { address } = newcomer()
    const { url, cookie } = await begin(closed)
    assertProblem(await comeBack(closed, await cancelAt(url), cookie, address), 'sso_rejected')
    assert.deepEqual(await reasons(address), ['provider_access_denied'])
  })

  test('a network with a hundred unfinished attempts waits; others do not', async () => {
    const address = '203.0.113.7'
    const attempt = () => closed.request('POST', '/session/oidc', { headers: OWN_PAGE, body: {}, address })
    for (let count = 0; count < 100; count++) assert.equal((await attempt()).status, 200)
    const answer = await attempt()
    assertRefused(answer, 'too_many_requests')
    assert.equal(answer.headers['retry-after'], '600')
    assert.ok(await begin(closed))
  })

  test('a flood of wrong callbacks fills no audit log', async () => {
    const address = '203.0.113.8'
    for (let count = 0; count < 60; count++)
      assertProblem(
        await comeBack(closed, `${REDIRECT_URI}?state=x&code=y`, undefined, address),
        'sso_expired',
      )
    assert.equal((await reasons(address)).length, 50)
  })
})

test('nothing of a sign-in but hashes is stored or logged', async () => {
  const { login, email } = newcomer()
  const { url, cookie } = await begin(open)
  const during = await dumpDatabase(open)
  const callback = await signInAt(url, login)
  sessionOf(await comeBack(open, callback, cookie))
  const unfinished = await begin(open)
  await comeBack(
    open,
    (await signInAt(unfinished.url, login)).replace('state=', 'state=x'),
    unfinished.cookie,
  )

  const { searchParams } = new URL(callback)
  const secrets = [
    ...provider.secrets,
    searchParams.get('code')!,
    searchParams.get('state')!,
    new URL(url).searchParams.get('nonce')!,
    cookie.split('=')[1]!,
    unfinished.cookie.split('=')[1]!,
  ]
  const stored = `${during}\n${await dumpDatabase(open)}`
  const everyLine = logged.join('\n')
  assert.ok(stored.includes(email) && everyLine.includes('signed in by single sign-on'))
  for (const secret of secrets) {
    assert.ok(secret.length > 10)
    assert.ok(!stored.includes(secret) && !stored.includes(Buffer.from(secret).toString('hex')), 'stored')
    assert.ok(!everyLine.includes(secret), 'logged')
  }
})
