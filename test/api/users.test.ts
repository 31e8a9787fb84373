// What instance administrators do with accounts: list, deactivate, reset passwords.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { sql } from 'kysely'
import { pino } from 'pino'
import { hashToken } from '#platform/crypto/tokens.ts'
import {
  type Arranged,
  auditOf,
  createToken,
  isValid,
  logIn,
  openAccounts,
  PASSWORD,
  refresh,
} from '#test/support/accounts.ts'
import { openTestApp, TEST_BASE_URL } from '#test/support/harness.ts'
import { createPerson, type Person } from '#test/support/world.ts'

const arrange = await openAccounts({ after })
const NEW_PASSWORD = 'another horse'
const OWN_PAGE = { 'x-gantry-request': '1', 'sec-fetch-site': 'same-origin' }

type Administered = Arranged & { admin: Person }

async function arrangeWithAdmin(): Promise<Administered> {
  const test = await arrange()
  return { ...test, admin: await createPerson(test.db, { admin: true }) }
}

const setActive = ({ request, admin }: Administered, user: { id: number }, active: boolean) =>
  request('PUT', `/users/${user.id}`, { token: admin.token, body: { active } })

const createReset = ({ request, admin, person }: Administered) =>
  request('POST', `/users/${person.id}/password-reset`, { token: admin.token })

async function resetToken(test: Administered): Promise<string> {
  const { status, body } = await createReset(test)
  assert.equal(status, 201)
  return new URL(body.url).hash.slice(1)
}

const reset = ({ request, address }: Arranged, token: string, headers: Record<string, string> = {}) =>
  request('POST', '/users/reset-password', { body: { token, password: NEW_PASSWORD }, headers, address })

const readReset = ({ request }: Arranged, token: string) =>
  request('POST', '/users/read-password-reset', { body: { token } })

suite('the list of users', () => {
  test('shows every account, newest first, with its last sign-in, by page and filter', async () => {
    const test = await arrangeWithAdmin()
    await logIn(test)
    const list = async (query: string) =>
      (await test.request('GET', `/users?${query}`, { token: test.admin.token })).body
    const [first, second] = await list('per_page=2')
    assert.deepEqual([first.id, second.id], [test.admin.id, test.person.id])
    assert.deepEqual([first.is_instance_admin, second.is_instance_admin], [true, false])
    assert.equal(first.last_sign_in_at, null)
    assert.ok(Date.now() - Date.parse(second.last_sign_in_at) < 60_000)
    assert.doesNotMatch(JSON.stringify([first, second]), /argon2|password/)
    const byEmail = await list(`filter[email]=${test.person.email.toUpperCase()}`)
    assert.deepEqual(
      byEmail.map(({ id }: Person) => id),
      [test.person.id],
    )
    await setActive(test, test.person, false)
    const inactive = await list('filter[active]=false')
    assert.ok(inactive.every(({ active }: { active: boolean }) => !active))
    assert.ok(inactive.some(({ id }: Person) => id === test.person.id))
    assert.equal((await list('page=1000')).length, 0)
    assert.deepEqual(Object.keys((await list('filter[email]=%00')).errors), ['filter[email]'])
    assert.deepEqual(Object.keys((await list('filter[active]=maybe')).errors), ['filter[active]'])
    assert.deepEqual(await list('filter[email]=%25'), [])
  })
})

suite('a deactivated user', () => {
  test('is signed out everywhere; personal tokens work again after activation, sessions do not', async () => {
    const test = await arrangeWithAdmin()
    const tokens = (await logIn(test)).body
    const personal = await createToken(test, test.person)
    const { status, body } = await setActive(test, test.person, false)
    assert.deepEqual([status, body.active], [200, false])
    for (const token of [tokens.access_token, personal.token, test.person.token])
      assert.equal(await isValid(test, token), false)
    assert.equal((await refresh(test, tokens.refresh_token)).status, 401)
    assert.equal((await logIn(test)).status, 401)

    assert.equal((await setActive(test, test.person, true)).body.active, true)
    assert.equal(await isValid(test, tokens.access_token), false)
    assert.equal((await refresh(test, tokens.refresh_token)).status, 401)
    assert.ok(await isValid(test, personal.token))
    assert.equal((await logIn(test)).status, 200)
    const verbs = (await auditOf(test, test.person)).map(({ verb, user_id }) => [verb, user_id])
    assert.deepEqual(verbs.slice(1, 4), [
      ['activated', test.admin.id],
      ['sign_in_failed', null],
      ['deactivated', test.admin.id],
    ])
  })

  test('is not changed a second time', async () => {
    const test = await arrangeWithAdmin()
    for (const _ of [1, 2]) assert.equal((await setActive(test, test.person, false)).status, 200)
    assert.equal((await auditOf(test, test.person, 'deactivated')).length, 1)
  })

  test('cannot use a reset link, nor get one', async () => {
    const test = await arrangeWithAdmin()
    const token = await resetToken(test)
    await setActive(test, test.person, false)
    assert.equal((await readReset(test, token)).status, 422)
    assert.equal((await reset(test, token)).status, 422)
    assert.equal((await createReset(test)).status, 409)
    await setActive(test, test.person, true)
    assert.equal((await reset(test, token)).status, 422)
  })

  test('is never the last active instance administrator', async (t) => {
    const app = await openTestApp(t)
    const test = { ...(await arrange(app)), admin: await createPerson(app.db, { admin: true }) }
    const alone = await setActive(test, test.admin, false)
    assert.deepEqual([alone.status, alone.body.code], [409, 'conflict'])
    const other = await createPerson(app.db, { admin: true })
    // Each tries to deactivate the other: one must remain.
    const answers = await Promise.all([
      setActive(test, other, false),
      setActive({ ...test, admin: other }, test.admin, false),
    ])
    assert.ok(answers.every(({ status }) => [200, 401, 409].includes(status)))
    const { rows } = await sql`select from users where is_instance_admin and active`.execute(app.db)
    assert.equal(rows.length, 1)
  })

  test('that does not exist is 404', async () => {
    const test = await arrangeWithAdmin()
    assert.equal((await setActive(test, { id: 999_999_999 }, false)).status, 404)
  })

  test('does not slip through by signing in at the same moment', async () => {
    const test = await arrangeWithAdmin()
    const logins = Array.from({ length: 8 }, () => logIn(test))
    const deactivation = setActive(test, test.person, false)
    const answers = await Promise.all(logins)
    assert.equal((await deactivation).status, 200)
    for (const { status, body } of answers) {
      if (status === 200) assert.equal(await isValid(test, body.access_token), false)
    }
    const { rows } = await sql`
      select from tokens where user_id = ${test.person.id} and family is not null and revoked_at is null`.execute(
      test.db,
    )
    assert.equal(rows.length, 0)
  })
})

suite('a password reset', () => {
  test('returns a link once, and ends all sessions and tokens of the user', async () => {
    const test = await arrangeWithAdmin()
    const tokens = (await logIn(test)).body
    const personal = await createToken(test, test.person)
    const { status, body, headers } = await createReset(test)
    assert.equal(status, 201)
    assert.equal(headers['cache-control'], 'no-store')
    assert.deepEqual(Object.keys(body), ['url', 'expires_at'])
    assert.match(body.url.slice(TEST_BASE_URL.length), /^\/app\/reset-password#gty_rs_[\w-]{43}$/)
    const minutes = (Date.parse(body.expires_at) - Date.now()) / 60_000
    assert.ok(minutes > 59 && minutes <= 60, `${minutes} minutes`)
    for (const token of [tokens.access_token, personal.token, test.person.token])
      assert.equal(await isValid(test, token), false)
    assert.equal((await refresh(test, tokens.refresh_token)).status, 401)
    assert.ok(await isValid(test, test.admin.token))
    const [entry] = await auditOf(test, test.person, 'password_reset_created')
    assert.equal(entry!.user_id, test.admin.id)
  })

  test('sets the password and signs in, once', async () => {
    const test = await arrangeWithAdmin()
    const token = await resetToken(test)
    const read = await readReset(test, token)
    assert.deepEqual([read.status, read.body.email], [200, test.person.email])
    // The old password still works until the new one is set.
    const old = (await logIn(test)).body
    const { status, body, headers } = await reset(test, token)
    assert.equal(status, 200)
    assert.deepEqual(Object.keys(body), ['user', 'access_token', 'token_type', 'expires_in', 'refresh_token'])
    assert.equal(body.user.email, test.person.email)
    assert.equal(headers['set-cookie'], undefined)
    assert.ok(await isValid(test, body.access_token))
    assert.equal(await isValid(test, old.access_token), false)
    assert.equal((await logIn(test)).status, 401)
    assert.equal((await logIn(test, test.person.email, NEW_PASSWORD)).status, 200)
    for (const answer of [await reset(test, token), await readReset(test, token)])
      assert.deepEqual([answer.status, Object.keys(answer.body.errors)], [422, ['token']])
    assert.equal((await auditOf(test, test.person, 'password_reset')).length, 1)
  })

  test("from Gantry's own pages sets the cookie and returns no tokens", async () => {
    const test = await arrangeWithAdmin()
    const { body, headers } = await reset(test, await resetToken(test), OWN_PAGE)
    const { user, ...tokens } = body
    assert.equal(user.id, test.person.id)
    assert.deepEqual(tokens, { access_token: null, token_type: null, expires_in: null, refresh_token: null })
    const cookie = String(headers['set-cookie']).split(';')[0]!
    assert.match(String(headers['set-cookie']), /^gantry_session=gty_at_.*HttpOnly; SameSite=Strict/)
    assert.equal(
      (await test.request('GET', '/session', { headers: { cookie } })).body.user.id,
      test.person.id,
    )
  })

  test('replaces the link before it', async () => {
    const test = await arrangeWithAdmin()
    const [first, second] = [await resetToken(test), await resetToken(test)]
    assert.equal((await reset(test, first)).status, 422)
    assert.equal((await reset(test, second)).status, 200)
  })

  test('expires after an hour', async () => {
    const test = await arrangeWithAdmin()
    const token = await resetToken(test)
    await test.db
      .updateTable('password_resets')
      .set({ expires_at: new Date(Date.now() - 1_000) })
      .where('hash', '=', hashToken(token))
      .execute()
    assert.equal((await readReset(test, token)).status, 422)
    assert.equal((await reset(test, token)).status, 422)
    assert.equal((await logIn(test)).status, 200)
  })

  test('of two concurrent uses one succeeds', async () => {
    const test = await arrangeWithAdmin()
    const token = await resetToken(test)
    const statuses = (await Promise.all([reset(test, token), reset(test, token)])).map(({ status }) => status)
    assert.deepEqual(statuses.sort(), [200, 422])
  })

  test('is not undone by somebody who knows the old password and changes it', async () => {
    const test = await arrangeWithAdmin()
    const token = await resetToken(test)
    const { access_token } = (await logIn(test)).body
    const body = { current_password: PASSWORD, new_password: 'a third horse' }
    const changed = await test.request('POST', '/users/me/password', {
      body,
      token: access_token,
      address: test.address,
    })
    assert.equal(changed.status, 204)
    assert.equal((await reset(test, token)).status, 200)
    assert.equal(await isValid(test, access_token), false)
    assert.equal((await logIn(test, test.person.email, 'a third horse')).status, 401)
  })

  test('with an unknown or a foreign token gets one response', async () => {
    const test = await arrangeWithAdmin()
    const { access_token } = (await logIn(test)).body
    for (const token of ['gty_rs_unknown', 'gty_in_unknown', access_token, 'x']) {
      for (const answer of [await reset(test, token), await readReset(test, token)]) {
        assert.equal(answer.status, 422)
        assert.deepEqual(answer.body.errors, { token: ['is unknown, used or expired: ask for a new link'] })
      }
    }
  })

  test('leaves no token or password in the log or the database', async (t) => {
    const lines: string[] = []
    const sink = { write: (line: string) => lines.push(line) }
    const app = await openTestApp(t, { log: pino({ level: 'trace' }, sink) })
    const test = { ...(await arrange(app)), admin: await createPerson(app.db, { admin: true }) }
    const token = await resetToken(test)
    await readReset(test, token)
    await reset(test, token)
    await reset(test, token)
    const tables = ['password_resets', 'audit_entries', 'tokens', 'sessions', 'users']
    const rows = await Promise.all(
      tables.map((table) => sql`select t::text as row from ${sql.table(table)} t`.execute(app.db)),
    )
    const stored = JSON.stringify(rows.map((result) => result.rows))
    const log = lines.join('')
    assert.match(log, /reset-password/)
    for (const secret of [token, token.slice(7), NEW_PASSWORD])
      assert.ok(!stored.includes(secret) && !log.includes(secret))
  })

  test('of a user that does not exist is 404', async () => {
    const test = await arrangeWithAdmin()
    assert.equal((await createReset({ ...test, person: { ...test.person, id: 999_999_999 } })).status, 404)
  })
})
