// Single sign-on with a provider that is slow, away, wrong or hostile.
import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { after, suite, test } from 'node:test'
import { pino } from 'pino'
import { hashPassword } from '#platform/crypto/passwords.ts'
import { openTestApp, TEST_BASE_URL, type TestApp } from '#test/support/harness.ts'
import {
  CLIENT_SECRET,
  type Misbehavior,
  sendJson,
  signed,
  signedByStranger,
  signedWithPublicKey,
  signedWithSecret,
  startHostileProvider,
  withoutSignature,
  withUnknownKey,
} from '#test/support/hostile-provider.ts'
import {
  assertProblem,
  begin,
  comeBack,
  dumpDatabase,
  failuresFrom,
  OWN_PAGE,
  REDIRECT_URI,
  sessionOf,
} from '#test/support/single-sign-on.ts'
import { createPerson } from '#test/support/world.ts'

const provider = await startHostileProvider({ after })
const logged: string[] = []
const log = pino({ level: 'trace' }, { write: (line: string) => void logged.push(line) })
const { environment } = provider
const app = await openTestApp({ after }, { environment, log })
/** Another process, which has not discovered the provider yet. */
const fresh = () => openTestApp({ after }, { environment, log, beside: app })

let counter = 0
/** The browser comes back with a code, from a network of its own. */
async function signIn(how: Misbehavior, query: Record<string, string> = {}, by = app) {
  const address = `198.51.${++counter}.1`
  provider.behave(how)
  const { url, cookie } = await begin(by, {}, address)
  const { searchParams } = new URL(url)
  provider.nonce = searchParams.get('nonce')!
  const parameters = new URLSearchParams({ code: 'secret-code', state: searchParams.get('state')!, ...query })
  return { address, answer: await comeBack(by, `${REDIRECT_URI}?${parameters}`, cookie, address) }
}

async function assertRefusal(how: Misbehavior, code: string, reason: string, query?: Record<string, string>) {
  const { answer, address } = await signIn(how, query)
  assertProblem(answer, code)
  const failures = await failuresFrom(app, address)
  assert.deepEqual(
    failures.map((entry) => entry.after),
    [{ method: 'oidc', reason }],
  )
}

/** The browser is sent to the page that says so, and gets no cookie. */
async function assertUnavailable({ request }: TestApp) {
  const answer = await request('POST', '/session/oidc', { headers: OWN_PAGE, body: {} })
  assert.equal(answer.status, 200)
  assert.equal(answer.body.url, `${TEST_BASE_URL}/app/sign-in?problem=sso_unavailable`)
  assert.equal(answer.headers['set-cookie'], undefined)
}

test('an honest answer signs in: what the others lack is only honesty', async () => {
  const { answer } = await signIn({})
  sessionOf(answer)
})

suite('an ID token is refused, and the refusal audited', () => {
  const now = Math.floor(Date.now() / 1_000)
  const cases: [string, Misbehavior, string][] = [
    ['with the nonce of another attempt', { claims: { nonce: 'x'.repeat(43) } }, 'wrong_nonce'],
    ['without a nonce', { claims: { nonce: undefined } }, 'invalid_response'],
    ['for another audience', { claims: { aud: 'another client' } }, 'wrong_aud'],
    ['for several audiences, made for another', { claims: { aud: ['gantry', 'x'], azp: 'x' } }, 'wrong_azp'],
    ['of another issuer', { claims: { iss: 'https://login.example.com' } }, 'wrong_iss'],
    ['that has expired', { claims: { iat: now - 7200, exp: now - 3600 } }, 'expired_token'],
    ['without a subject', { claims: { sub: undefined } }, 'invalid_response'],
    ['signed with an unknown key', { idToken: withUnknownKey }, 'unknown_key'],
    ['with a forged signature', { idToken: signedByStranger }, 'invalid_response'],
    ['without a signature', { idToken: withoutSignature }, 'unsupported_algorithm'],
    ['signed with the client secret', { idToken: signedWithSecret }, 'unsupported_algorithm'],
    ['signed with the public key as a secret', { idToken: signedWithPublicKey }, 'unsupported_algorithm'],
    [
      'that was changed after it was signed',
      {
        idToken: (claims) => {
          const [header, , signature] = signed(claims).split('.')
          return `${header}.${Buffer.from(JSON.stringify({ ...claims, sub: 'admin' })).toString('base64url')}.${signature}`
        },
      },
      'invalid_response',
    ],
  ]
  for (const [name, how, reason] of cases)
    test(name, async () => {
      await assertRefusal(how, 'sso_rejected', reason)
    })
})

suite('an answer of the provider', () => {
  test('that names another issuer in the URL is refused', async () => {
    await assertRefusal({}, 'sso_rejected', 'invalid_response', { iss: 'https://login.example.com' })
  })

  test('that is an error is refused, whatever it is called', async () => {
    const error = async (text: string, code: string, reason: string) =>
      assertRefusal({}, code, reason, { error: text, error_description: 'secret-code' })
    await error('access_denied', 'sso_rejected', 'provider_access_denied')
    await error('login_required', 'sso_rejected', 'provider_login_required')
    await error('temporarily_unavailable', 'sso_unavailable', 'provider_temporarily_unavailable')
    await error('<script>alert(1)</script>', 'sso_rejected', 'provider_error')
  })

  test('that refuses the code is refused; one that refuses Gantry is an outage', async () => {
    const refuse = (error: string) => ({
      token: (response: ServerResponse) =>
        sendJson(response, { error, error_description: 'secret-code' }, 400),
    })
    await assertRefusal(refuse('invalid_grant'), 'sso_rejected', 'provider_invalid_grant')
    await assertRefusal(refuse('invalid_client'), 'sso_unavailable', 'provider_invalid_client')
  })

  test('about somebody else than the ID token is refused', async () => {
    const other = await fresh()
    const { answer, address } = await signIn(
      { userinfo: (response) => sendJson(response, { sub: 'admin', email: 'admin@example.com' }) },
      {},
      other,
    )
    assertProblem(answer, 'sso_rejected')
    assert.deepEqual((await failuresFrom(app, address))[0]!.after, {
      method: 'oidc',
      reason: 'wrong_subject',
    })
  })

  const nonsense: [string, (response: ServerResponse) => void][] = [
    ['is not JSON', (response) => response.writeHead(200, { 'content-type': 'application/json' }).end('{')],
    [
      'is a page',
      (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Hello</h1>'),
    ],
    ['is an error of the server', (response) => sendJson(response, {}, 500)],
    ['breaks off', (response) => response.socket!.destroy()],
    ['redirects', (response) => response.writeHead(302, { location: '/elsewhere' }).end()],
    [
      'never ends',
      (response) => {
        response.writeHead(200, { 'content-type': 'application/json' })
        const fill = () => {
          while (response.write(' '.repeat(65_536)));
          response.once('drain', fill)
        }
        fill()
      },
    ],
  ]
  for (const [name, answer] of nonsense) {
    test(`that ${name} is an outage for everyone who signs in`, async () => {
      const { answer: callback } = await signIn({ token: answer })
      assertProblem(callback, 'sso_unavailable')
      assert.ok(!provider.requests.includes('/elsewhere'))
    })

    test(`that ${name} when Gantry looks for the provider leaves passwords working`, async () => {
      const other = await fresh()
      provider.behave({ discovery: answer })
      await assertUnavailable(other)
      const person = await createPerson(app.db, { passwordHash: await hashPassword('correct horse battery') })
      const body = { email: person.email, password: 'correct horse battery' }
      assert.equal((await other.request('POST', '/session', { body })).status, 200)
      // As soon as the provider is back, so is single sign-on.
      sessionOf((await signIn({}, {}, other)).answer)
    })
  }
})

test('a document about another issuer is not used', async () => {
  const other = await fresh()
  provider.behave({
    discovery: (response, honest) => sendJson(response, { ...honest, issuer: 'https://login.example.com' }),
  })
  await assertUnavailable(other)
})

test('the code and the client secret go to no endpoint without TLS', async () => {
  const other = await fresh()
  const token_endpoint = 'http://login.example.com/token'
  const { answer, address } = await signIn(
    { discovery: (response, honest) => sendJson(response, { ...honest, token_endpoint }) },
    {},
    other,
  )
  assertProblem(answer, 'sso_unavailable')
  assert.deepEqual((await failuresFrom(app, address))[0]!.after, {
    method: 'oidc',
    reason: 'insecure_endpoint',
  })
})

test('a provider that keeps silent is given up after ten seconds', async () => {
  const other = await fresh()
  provider.behave({ discovery: () => {} })
  const started = performance.now()
  await Promise.all([1, 2, 3].map(() => assertUnavailable(other)))
  const seconds = (performance.now() - started) / 1_000
  assert.ok(seconds > 9 && seconds < 14, `${seconds} s`)
})

test('the provider is looked up once, when somebody first signs in', async () => {
  const other = await fresh()
  const lookups = () => provider.requests.filter((path) => path.includes('well-known')).length
  provider.behave({})
  const before = lookups()
  await other.request('GET', '/session/options')
  assert.equal(lookups(), before)
  await Promise.all([begin(other), begin(other), begin(other)])
  assert.equal(lookups(), before + 1)
})

test('no failure leaves a secret in the log or the database', async () => {
  const everything = `${logged.join('\n')}\n${await dumpDatabase(app)}`
  assert.ok(everything.includes('single sign-on failed'))
  for (const secret of ['secret-code', 'access token', CLIENT_SECRET, 'eyJ', 'alert(1)'])
    assert.ok(!everything.includes(secret), secret)
})
