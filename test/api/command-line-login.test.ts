// Browser login of the command line: the approval of a person, and the exchange of its code for a token.
import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { after, suite, test } from 'node:test'
import { sql } from 'kysely'
import { pino } from 'pino'
import { pruneAuthorizations } from '#access/command-line-login/authorizations.ts'
import {
  type Arranged,
  auditOf,
  createToken,
  deactivate,
  isValid,
  networkAddress,
  openAccounts,
  PASSWORD,
} from '#test/support/accounts.ts'
import type { Answer } from '#test/support/harness.ts'
import { RIGHT_REDIRECTS, WRONG_REDIRECTS } from '#test/support/redirect-uris.ts'
import { assertInvalid, assertRefused } from '#test/support/refusals.ts'

const log: string[] = []
const arrange = await openAccounts(
  { after },
  { log: pino({ level: 'trace' }, { write: (line: string) => void log.push(line) }) },
)

const REDIRECT = 'http://127.0.0.1:49152/callback'
const OWN = { 'x-gantry-request': '1' }

function newVerifier() {
  const verifier = randomBytes(32).toString('base64url')
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') }
}

/** Someone who is signed in with a browser. */
async function signIn() {
  const test = await arrange()
  const answer = await test.request('POST', '/session', {
    body: { email: test.person.email, password: PASSWORD },
    address: test.address,
  })
  const token = /^gantry_session=([^;]*)/.exec(String(answer.headers['set-cookie']))![1]!
  return { ...test, headers: { ...OWN, cookie: `gantry_session=${token}` } }
}

type SignedIn = Awaited<ReturnType<typeof signIn>>

function approve({ request, headers }: SignedIn, more: object = {}): Promise<Answer> {
  const { challenge } = newVerifier()
  const body = { redirect_uri: REDIRECT, code_challenge: challenge, name: 'laptop', ...more }
  return request('POST', '/session/authorizations', { headers, body })
}

/** An approved login: what the command line sends to get its token. */
async function approved(test: SignedIn, more: object = {}) {
  const { verifier, challenge } = newVerifier()
  const { status, body } = await approve(test, { code_challenge: challenge, ...more })
  assert.equal(status, 201, JSON.stringify(body))
  return {
    code: body.code as string,
    code_verifier: verifier,
    redirect_uri: REDIRECT,
    ...more,
    name: undefined,
  }
}

function exchange({ request, address }: Arranged, body: object, from = address): Promise<Answer> {
  return request('POST', '/session/authorizations/token', { body, address: from })
}

const REFUSED = {
  code: ['is not valid: it was used, has expired, or belongs to another login. Run gantry login again'],
}

suite('an approved login', () => {
  test('may approve runs only if the person says so', async () => {
    const test = await signIn()
    const { verifier, challenge } = newVerifier()
    const { body } = await approve(test, { code_challenge: challenge, may_approve: true })
    const taken = { code: body.code, code_verifier: verifier, redirect_uri: REDIRECT }
    const { scopes } = (await exchange(test, taken)).body
    assert.deepEqual(scopes, ['read', 'run', 'hooks', 'manage', 'approve'])
  })

  test('gives the command line a personal token of all scopes for 90 days, which logging out revokes', async () => {
    const test = await signIn()
    const { verifier, challenge } = newVerifier()
    const approval = await approve(test, { code_challenge: challenge, name: "Ada's laptop" })
    assert.equal(approval.status, 201)
    assert.deepEqual(Object.keys(approval.body), ['code', 'expires_at'])
    const seconds = (Date.parse(approval.body.expires_at) - Date.now()) / 1_000
    assert.ok(seconds > 110 && seconds < 121, `${seconds}`)
    const answer = await exchange(test, {
      code: approval.body.code,
      code_verifier: verifier,
      redirect_uri: REDIRECT,
    })
    assert.equal(answer.status, 201, answer.text)
    for (const { headers } of [approval, answer]) assert.equal(headers['cache-control'], 'no-store')
    const { token, user, expires_at, ...shown } = answer.body
    assert.equal(user.email, test.person.email)
    assert.equal(shown.name, "gantry on Ada's laptop")
    assert.deepEqual([shown.scopes, shown.organization_ids, shown.project_ids], [null, null, null])
    const days = (Date.parse(expires_at) - Date.now()) / 86_400_000
    assert.ok(days > 89.9 && days < 90.1, `${days}`)
    const list = await test.request('GET', '/users/personal-access-tokens', { token })
    assert.deepEqual([list.body[0].id, list.body[0].name], [shown.id, shown.name])
    assert.equal((await test.request('POST', '/users/logout', { token })).status, 204)
    assert.equal(await isValid(test, token), false)
    assert.equal((await test.request('GET', '/session', { headers: test.headers })).status, 200)
  })

  test('of the same machine gets a token of its own', async () => {
    const test = await signIn()
    const first = await exchange(test, await approved(test))
    const second = await exchange(test, await approved(test))
    assert.equal(first.body.name, second.body.name)
    assert.notEqual(first.body.id, second.body.id)
    assert.ok((await isValid(test, first.body.token)) && (await isValid(test, second.body.token)))
  })

  test('is audited as a created token; code, verifier and token are stored and logged nowhere', async () => {
    const test = await signIn()
    log.length = 0
    const login = await approved(test)
    const stored =
      await sql`select a::text as text from login_authorizations a where user_id = ${test.person.id}`.execute(
        test.db,
      )
    assert.equal(stored.rows.length, 1)
    const { body } = await exchange(test, login)
    const entries = await test.db
      .selectFrom('audit_entries')
      .selectAll()
      .where('user_id', '=', test.person.id)
      .where('subject_type', '=', 'personal_access_token')
      .execute()
    assert.deepEqual(
      entries.map(({ verb, subject_id, subject_name, ip_address }) => [
        verb,
        subject_id,
        subject_name,
        ip_address,
      ]),
      [['created', String(body.id), 'gantry on laptop', test.address]],
    )
    assert.ok(log.length > 0)
    const kept = [JSON.stringify([stored.rows, entries]), ...log].join('\n')
    for (const secret of [login.code, login.code_verifier, body.token])
      for (const form of [secret, Buffer.from(secret).toString('hex')]) assert.ok(!kept.includes(form))
  })
})

suite('a code', () => {
  test('works once, also when two trade it at the same moment', async () => {
    const test = await signIn()
    const login = await approved(test)
    const answers = await Promise.all(Array.from({ length: 4 }, () => exchange(test, login)))
    assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 422, 422, 422])
    assertRefused(await exchange(test, login), 'invalid', REFUSED)
  })

  test('is used up by a wrong verifier or redirect URI, which is audited', async () => {
    const test = await signIn()
    const wrong = {
      wrong_verifier: { code_verifier: newVerifier().verifier },
      wrong_redirect_uri: { redirect_uri: 'http://127.0.0.1:49153/callback' },
    }
    for (const [reason, more] of Object.entries(wrong)) {
      const login = await approved(test)
      assertRefused(await exchange(test, { ...login, ...more }), 'invalid', REFUSED)
      assertRefused(await exchange(test, login), 'invalid', REFUSED)
      const [entry] = await auditOf(test, test.person, 'sign_in_failed')
      assert.deepEqual([entry!.user_id, entry!.after], [null, { method: 'command_line', reason }])
    }
  })

  test('is refused with the same answer when it is unknown, expired or the challenge itself', async () => {
    const test = await signIn()
    const login = await approved(test)
    assertRefused(
      await exchange(test, { ...login, code: `gty_ac_${newVerifier().verifier}` }),
      'invalid',
      REFUSED,
    )
    const challenge = createHash('sha256').update(login.code_verifier).digest('base64url')
    assertRefused(await exchange(test, { ...login, code_verifier: challenge }), 'invalid', REFUSED)
    const late = await approved(test)
    await expireCodes(test)
    assertRefused(await exchange(test, late), 'invalid', REFUSED)
  })

  test('ends with the session that approved it, and with the account', async () => {
    const signedOut = await signIn()
    const first = await approved(signedOut)
    await signedOut.request('DELETE', '/session', { headers: signedOut.headers })
    assertRefused(await exchange(signedOut, first), 'invalid', REFUSED)
    const deactivated = await signIn()
    const second = await approved(deactivated)
    await deactivate(deactivated, deactivated.person)
    assertRefused(await exchange(deactivated, second), 'invalid', REFUSED)
    const tokens = await deactivated.db
      .selectFrom('tokens')
      .select('id')
      .where('user_id', 'in', [signedOut.person.id, deactivated.person.id])
      .where('kind', '=', 'personal')
      .execute()
    assert.deepEqual(tokens, [])
  })

  test('that nobody used is removed once it has expired', async () => {
    const test = await signIn()
    await approved(test)
    const left = () =>
      test.db
        .selectFrom('login_authorizations')
        .select('name')
        .where('user_id', '=', test.person.id)
        .execute()
    await pruneAuthorizations(test.db)
    assert.equal((await left()).length, 1)
    await expireCodes(test)
    await pruneAuthorizations(test.db)
    assert.deepEqual(await left(), [])
  })

  test('that is wrong is throttled by network; a correct one still works there', async () => {
    const test = await signIn()
    const guess = (host: number) =>
      exchange(
        test,
        { code: 'gty_ac_guess', code_verifier: newVerifier().verifier, redirect_uri: REDIRECT },
        networkAddress(test.person.id, host),
      )
    for (let host = 1; host <= 50; host++) assertRefused(await guess(host), 'invalid', REFUSED)
    const throttled = await guess(51)
    assertRefused(throttled, 'too_many_requests')
    assert.ok(Number(throttled.headers['retry-after']) > 0)
    assert.equal((await exchange(test, await approved(test))).status, 201)
    const elsewhere = { code: 'gty_ac_guess', code_verifier: newVerifier().verifier, redirect_uri: REDIRECT }
    assertRefused(await exchange(test, elsewhere, networkAddress(60_000)), 'invalid', REFUSED)
  })
})

suite('an approval', () => {
  test('needs the cookie of a browser and the header of our pages, whatever the body', async () => {
    const test = await signIn()
    const { token } = await createToken(test, test.person)
    const body = { redirect_uri: 'nonsense' }
    const ask = (options: object) => test.request('POST', '/session/authorizations', { body, ...options })
    assertRefused(await ask({}), 'unauthenticated')
    assertRefused(await ask({ token }), 'forbidden')
    assertRefused(await ask({ token: test.person.token }), 'forbidden')
    assertRefused(await ask({ headers: { ...OWN, cookie: `gantry_session=${token}` } }), 'forbidden')
    assertRefused(await ask({ headers: { cookie: test.headers.cookie } }), 'forbidden')
    const evil = { ...test.headers, origin: 'https://evil.example.com' }
    assertRefused(await ask({ headers: evil }), 'forbidden')
    assertInvalid(await ask({ headers: test.headers }), 'redirect_uri', 'code_challenge', 'name')
  })

  test('takes no redirect URI but a port of the loopback addresses', async () => {
    const test = await signIn()
    for (const redirect_uri of WRONG_REDIRECTS)
      assertInvalid(await approve(test, { redirect_uri }), 'redirect_uri')
    for (const redirect_uri of RIGHT_REDIRECTS) {
      const login = await approved(test, { redirect_uri })
      assert.equal((await exchange(test, login)).status, 201, redirect_uri)
    }
  })

  test('takes no challenge but a SHA-256, and no name that deceives', async () => {
    const test = await signIn()
    for (const code_challenge of [
      '',
      'x'.repeat(42),
      'x'.repeat(44),
      `${'x'.repeat(42)}=`,
      `${'x'.repeat(42)}+`,
    ])
      assertInvalid(await approve(test, { code_challenge }), 'code_challenge')
    for (const name of ['', ' ', 'a\nb', 'laptop \u202egnp', 'x'.repeat(51)])
      assertInvalid(await approve(test, { name }), 'name')
    const { body } = await exchange(test, await approved(test, { name: 'x'.repeat(50) }))
    assert.equal(body.name.length, 60)
  })

  test('is limited to 20 at a time for each person', async () => {
    const [test, other] = [await signIn(), await signIn()]
    for (let count = 0; count < 20; count++) await approved(test)
    const answer = await approve(test)
    assertRefused(answer, 'too_many_requests')
    assert.equal(answer.headers['retry-after'], '120')
    assert.equal((await approve(other)).status, 201)
    await expireCodes(test)
    assert.equal((await approve(test)).status, 201)
  })
})

async function expireCodes({ db, person }: Arranged): Promise<void> {
  await db
    .updateTable('login_authorizations')
    .set({ expires_at: sql<string>`now() - interval '1 second'` })
    .where('user_id', '=', person.id)
    .execute()
}
