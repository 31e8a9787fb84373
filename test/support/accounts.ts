// Shared by tests of accounts: a separate account and network per test, and operations on tokens.
import assert from 'node:assert/strict'
import { sql } from 'kysely'
import { type Subjects, subjectsOf } from '#access/accounts/login-throttle.ts'
import { hashPassword } from '#platform/crypto/passwords.ts'
import { hashToken } from '#platform/crypto/tokens.ts'
import { type Answer, openTestApp, type TestApp } from './harness.ts'
import { createPerson, type Person } from './world.ts'

export const PASSWORD = 'correct horse battery'

export type Tokens = { access_token: string; refresh_token: string }
export type Arranged = TestApp & { person: Person; address: string }

/** The app that all tests of a file share, with a separate account per test. */
export async function openAccounts(...options: Parameters<typeof openTestApp>) {
  const app = await openTestApp(...options)
  const realHash = await hashPassword(PASSWORD)

  return async function arrange(test = app, passwordHash = realHash): Promise<Arranged> {
    const person = await createPerson(test.db, { passwordHash })
    return { ...test, person, address: networkAddress(person.id) }
  }
}

/** An address of network `number`, which is different for every number up to 65,535. */
export function networkAddress(number: number, host = 1): string {
  return `2001:db8:${number.toString(16)}::${host}`
}

/** An address far from those of accounts. */
export const elsewhere = (number: number) => `198.51.${number}.1`

/** Past failures to log in, without the time that real ones take. */
export async function addFailures(
  { db }: Arranged,
  kind: keyof Subjects,
  about: { email?: string; address?: string },
  count: number,
  ago = '1 minute',
): Promise<void> {
  const subject = subjectsOf(about.email ?? '', about.address ?? '')[kind]
  await sql`
    insert into login_failures (subject, failed_at)
    select ${subject}, now() - ${ago}::interval from generate_series(1, ${count})`.execute(db)
}

export function logIn(
  test: Arranged,
  email = test.person.email,
  password = PASSWORD,
  address = test.address,
): Promise<Answer> {
  return test.request('POST', '/users/login', { body: { email, password }, address })
}

export function refresh({ request }: Arranged, refresh_token: string): Promise<Answer> {
  return request('POST', '/users/refresh-token', { body: { refresh_token } })
}

export async function isValid({ request }: Arranged, token: string): Promise<boolean> {
  const { status } = await request('GET', '/users/me', { token })
  assert.ok(status === 200 || status === 401)
  return status === 200
}

export async function createToken({ request }: Arranged, person: Person, more: object = {}) {
  const { status, body } = await request('POST', '/users/personal-access-tokens', {
    token: person.token,
    body: { name: 'CI', ...more },
  })
  assert.equal(status, 201, JSON.stringify(body))
  return body as { id: number; token: string; expires_at: string | null }
}

export async function expire({ db }: Arranged, token: string): Promise<void> {
  await db
    .updateTable('tokens')
    .set({ expires_at: sql<string>`now() - interval '1 second'` })
    .where('hash', '=', hashToken(token))
    .execute()
}

export async function deactivate({ db }: Arranged, person: Person): Promise<void> {
  await db.updateTable('users').set({ active: false }).where('id', '=', person.id).execute()
}

/** What the audit log says about an account, newest first. */
export async function auditOf({ db }: Arranged, person: { id: number }, verb?: string) {
  const entries = await db
    .selectFrom('audit_entries')
    .selectAll()
    .where('subject_type', '=', 'user')
    .where('subject_id', '=', String(person.id))
    .orderBy('id', 'desc')
    .execute()
  return entries.filter((entry) => verb === undefined || entry.verb === verb)
}

/** Invites an address; returns the invitation and the token in its link. */
export async function invite(
  { request }: Pick<TestApp, 'request'>,
  organizationId: number,
  token: string,
  body: object,
): Promise<{ id: number; link: string }> {
  const answer = await request('POST', `/organizations/${organizationId}/invitations`, { token, body })
  assert.equal(answer.status, 201, answer.text)
  return { id: answer.body.id, link: new URL(answer.body.url).hash.slice(1) }
}

/** The response to an invitation that somebody without an account accepts. */
export function acceptInvitation(
  { request }: Pick<TestApp, 'request'>,
  link: string,
  more: object = {},
): Promise<Answer> {
  return request('POST', '/users/accept-invitation', {
    body: { token: link, password: PASSWORD, ...more },
  })
}
