// Invitations that are accepted with single sign-on.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { invite as inviteTo } from '#test/support/accounts.ts'
import { openTestApp } from '#test/support/harness.ts'
import { signInAt, startIdentityProvider } from '#test/support/identity-provider.ts'
import {
  assertProblem,
  begin,
  beginLink,
  comeBack,
  failuresFrom,
  meBy,
  REDIRECT_URI,
  sessionOf,
} from '#test/support/single-sign-on.ts'
import { createPerson, createTestTree } from '#test/support/world.ts'

const provider = await startIdentityProvider({ after }, REDIRECT_URI)
const app = await openTestApp(
  { after },
  { environment: { ...provider.environment, GANTRY_PASSWORD_LOGIN: 'false' } },
)
const { db, request } = app
const tree = await createTestTree(db)
const members = `/organizations/${tree.organizationId}/members`

let counter = 0
const newLogin = (claims: object = {}) => {
  const login = `invited${++counter}`
  provider.people.set(login, { email: `${login}@provider.example`, name: `Invited ${counter}`, ...claims })
  return login
}
const address = () => `198.51.${counter}.1`

const invite = async (email: string) => {
  const body = { email, name: 'Given name', role: 'developer' }
  return (await inviteTo(app, tree.organizationId, tree.owner.token, body)).link
}

async function accept(invitation_token: string, login: string) {
  const { url, cookie } = await begin(app, { invitation_token }, address())
  return comeBack(app, await signInAt(url, login), cookie, address())
}

const isMember = async (id: number) =>
  (await request('GET', `${members}/${id}`, { token: tree.owner.token })).status === 200

test('somebody new gets the account of the invitation, without a password', async () => {
  const login = newLogin()
  const me = await meBy(app, sessionOf(await accept(await invite('new@example.com'), login)))
  assert.deepEqual([me.email, me.name], ['new@example.com', `Invited ${counter}`])
  assert.ok(await isMember(me.id))
  const { password_hash } = await db
    .selectFrom('users')
    .select('password_hash')
    .where('id', '=', me.id)
    .executeTakeFirstOrThrow()
  assert.equal(password_hash, null)
  const { url, cookie } = await begin(app)
  const again = await meBy(app, sessionOf(await comeBack(app, await signInAt(url, login), cookie)))
  assert.equal(again.id, me.id)
})

test('without a name from the provider the given name is used', async () => {
  const me = await meBy(
    app,
    sessionOf(await accept(await invite('named@example.com'), newLogin({ name: undefined }))),
  )
  assert.equal(me.name, 'Given name')
})

test('a link works once, and an unknown one never', async () => {
  const token = await invite('once@example.com')
  sessionOf(await accept(token, newLogin()))
  for (const used of [token, 'gty_in_unknown']) {
    const login = newLogin()
    assertProblem(await accept(used, login), 'sso_rejected')
    assert.deepEqual((await failuresFrom(app, address()))[0]!.after, { method: 'oidc', reason: 'invitation' })
    const identities = await db.selectFrom('identities').select('id').where('subject', '=', login).execute()
    assert.deepEqual(identities, [])
  }
})

test('an address that has an account is not taken over: its holder signs in first', async () => {
  const person = await createPerson(db)
  const token = await invite(person.email)
  assertProblem(await accept(token, newLogin({ email: person.email })), 'sso_email_taken')
  assert.equal(await isMember(person.id), false)

  const login = newLogin()
  const { url, cookie } = await beginLink(app, person.token)
  await comeBack(app, await signInAt(url, login), cookie)
  assert.equal((await meBy(app, sessionOf(await accept(token, login)))).id, person.id)
  assert.ok(await isMember(person.id))
})

test('an identity of another account does not accept', async () => {
  const [person, login] = [await createPerson(db), newLogin()]
  const { url, cookie } = await beginLink(app, person.token)
  await comeBack(app, await signInAt(url, login), cookie)
  const token = await invite('somebody-else@example.com')
  assertProblem(await accept(token, login), 'sso_rejected')
  assert.equal(await isMember(person.id), false)
  sessionOf(await accept(token, newLogin()))
})

test('two acceptances at once end in one account', async () => {
  const token = await invite('twice@example.com')
  const answers = await Promise.all([accept(token, newLogin()), accept(token, newLogin())])
  const signedIn = answers.filter(({ headers }) => !String(headers.location).includes('problem='))
  assert.equal(signedIn.length, 1)
  const users = await db.selectFrom('users').select('id').where('email', '=', 'twice@example.com').execute()
  assert.equal(users.length, 1)
})
