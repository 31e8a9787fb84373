// Shared by tests of single sign-on: a browser at Gantry's end of it.
import assert from 'node:assert/strict'
import { sql } from 'kysely'
import { type Answer, TEST_BASE_URL, type TestApp } from './harness.ts'

export const REDIRECT_URI = `${TEST_BASE_URL}/session/oidc/callback`
export const OWN_PAGE = { 'x-gantry-request': '1', origin: TEST_BASE_URL }

/** A sign-in that a browser has begun: where it is sent, and the cookie that it keeps. */
export type Begun = { url: string; cookie: string }

export async function begin({ request }: TestApp, body: object = {}, address?: string): Promise<Begun> {
  return begunBy(await request('POST', '/session/oidc', { headers: OWN_PAGE, body, address }))
}

export async function beginLink({ request }: TestApp, token: string): Promise<Begun> {
  return begunBy(await request('POST', '/users/me/identities', { token }))
}

function begunBy(answer: Answer): Begun {
  assert.equal(answer.status, 200, answer.text)
  return { url: answer.body.url, cookie: String(answer.headers['set-cookie']).split(';')[0]! }
}

/** `callback` is the URL that the provider sends the browser to. */
export function comeBack({ request }: TestApp, callback: string, cookie?: string, address?: string) {
  const { pathname, search } = new URL(callback)
  return request('GET', pathname + search, {
    headers: { accept: 'text/html', ...(cookie && { cookie }) },
    address,
  })
}

/** The cookie of the session that a callback has opened. */
export function sessionOf(answer: Answer): string {
  assert.equal(answer.status, 302)
  assert.equal(answer.headers.location, `${TEST_BASE_URL}/app`)
  const cookie = [answer.headers['set-cookie']].flat().find((one) => one?.startsWith('gantry_session='))
  assert.ok(cookie, 'no session')
  return cookie.split(';')[0]!
}

/** The callback led to a page that shows this problem, and opened no session. */
export function assertProblem(answer: Answer, code: string, page = 'sign-in'): void {
  assert.equal(answer.status, 302, answer.text)
  assert.equal(answer.headers.location, `${TEST_BASE_URL}/app/${page}?problem=${code}`)
  assert.ok(!String(answer.headers['set-cookie']).includes('gantry_session='))
}

export async function meBy({ request }: TestApp, cookie: string) {
  const answer = await request('GET', '/users/me', { headers: { cookie } })
  assert.equal(answer.status, 200)
  return answer.body as { id: number; email: string; name: string }
}

/** Failed sign-ins in the audit log from this network address, the newest last. */
export async function failuresFrom({ db }: TestApp, address: string) {
  const rows = await db
    .selectFrom('audit_entries')
    .select(['subject_type', 'subject_id', 'after', 'organization_id'])
    .where('verb', '=', 'sign_in_failed')
    .where('ip_address', '=', address)
    .orderBy('id')
    .execute()
  return rows
}

/** Everything that is stored, as text. */
export async function dumpDatabase({ db }: TestApp): Promise<string> {
  const { rows: tables } = await sql<{ name: string }>`
    select format('%I.%I', schemaname, tablename) as name from pg_tables
    where schemaname not in ('pg_catalog', 'information_schema')`.execute(db)
  const parts: string[] = []
  for (const { name } of tables) {
    const { rows } = await sql<{ text: string }>`select t::text as text from ${sql.raw(name)} t`.execute(db)
    parts.push(...rows.map(({ text }) => text))
  }
  return parts.join('\n')
}
