// What users do with their own account: profile, password and sessions.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
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
import type { RequestOptions } from '#test/support/harness.ts'
import { createAccessToken, createPerson } from '#test/support/world.ts'

const arrange = await openAccounts({ after })
const NEW_PASSWORD = 'another horse'

async function signIn(test: Arranged, headers: Record<string, string> = {}): Promise<string> {
  const body = { email: test.person.email, password: PASSWORD }
  const answer = await test.request('POST', '/users/login', { body, headers, address: test.address })
  assert.equal(answer.status, 200)
  return answer.body.access_token
}

async function signInWithCookie(test: Arranged): Promise<RequestOptions> {
  const body = { email: test.person.email, password: PASSWORD }
  const answer = await test.request('POST', '/session', { body, address: test.address })
  assert.equal(answer.status, 200)
  const [cookie] = String(answer.headers['set-cookie']).split(';')
  return { headers: { cookie: cookie!, 'x-gantry-request': '1' } }
}

const sessionsOf = async ({ request }: Arranged, options: RequestOptions) =>
  (await request('GET', '/users/me/sessions', options)).body

suite('the profile', () => {
  test('name and language can be changed, one at a time', async () => {
    const test = await arrange()
    const put = (body: object) => test.request('PUT', '/users/me', { token: test.person.token, body })
    assert.equal((await put({ name: 'Ada' })).body.name, 'Ada')
    const { status, body } = await put({ language: 'pt-BR' })
    assert.deepEqual([status, body.name, body.language, body.email], [200, 'Ada', 'pt-BR', test.person.email])
    assert.deepEqual((await test.request('GET', '/users/me', { token: test.person.token })).body, body)
    assert.deepEqual((await put({ name: 'Ada' })).body, body)
    const changes = await auditOf(test, test.person, 'changed')
    assert.deepEqual([changes.length, changes[0]!.after], [2, { name: 'Ada', language: 'pt-BR' }])
  })

  test('is not overwritten from another window with an outdated version', async () => {
    const { request, person } = await arrange()
    const put = (body: object, version?: string) =>
      request('PUT', '/users/me', {
        token: person.token,
        body,
        headers: version ? { 'if-match': version } : {},
      })
    const seen = await request('GET', '/users/me', { token: person.token })
    const changed = await put({ name: 'Ada' }, seen.headers.etag)
    assert.equal(changed.status, 200)
    assert.equal((await put({ name: 'Grace' }, seen.headers.etag)).status, 412)
    assert.equal((await put({ name: 'Grace' }, changed.headers.etag)).status, 200)
  })

  test('everything else is rejected', async () => {
    const { request, person } = await arrange()
    const wrong = [
      { name: '' },
      { name: 'a\nb' },
      { language: 'English' },
      { language: '' },
      { email: 'other@example.com' },
      { is_instance_admin: true },
      { active: true },
    ]
    for (const body of wrong) {
      const answer = await request('PUT', '/users/me', { token: person.token, body })
      assert.deepEqual([answer.status, Object.keys(answer.body.errors)], [422, Object.keys(body)])
    }
  })
})

suite('changing the password', () => {
  const change = (test: Arranged, options: RequestOptions, body: object = {}) =>
    test.request('POST', '/users/me/password', {
      body: { current_password: PASSWORD, new_password: NEW_PASSWORD, ...body },
      address: test.address,
      ...options,
    })

  test('ends the other sessions at once; this one and personal tokens stay', async () => {
    const test = await arrange()
    const other = (await logIn(test)).body
    const token = await signIn(test)
    const personal = await createToken(test, test.person)
    assert.equal((await change(test, { token })).status, 204)
    assert.ok(await isValid(test, token))
    assert.ok(await isValid(test, personal.token))
    assert.equal(await isValid(test, other.access_token), false)
    assert.equal((await refresh(test, other.refresh_token)).status, 401)
    assert.equal(await isValid(test, test.person.token), false)
    assert.equal((await logIn(test)).status, 401)
    assert.equal((await logIn(test, test.person.email, NEW_PASSWORD)).status, 200)
    const [last] = await auditOf(test, test.person, 'password_changed')
    assert.deepEqual(last!.after, { ended_sessions: 2 })
    assert.equal(last!.ip_address, test.address)
  })

  test('requires the current password, and counts wrong ones like failed logins', async () => {
    const test = await arrange()
    const { token } = test.person
    for (let number = 1; number <= 10; number++) {
      const answer = await change(test, { token }, { current_password: `guess ${number}` })
      assert.deepEqual([answer.status, Object.keys(answer.body.errors)], [422, ['current_password']])
    }
    const throttled = await change(test, { token })
    assert.equal(throttled.status, 429)
    assert.ok(Number(throttled.headers['retry-after']) > 0)
    assert.equal((await logIn(test)).status, 429)
  })

  test('works with a cookie, which stays valid', async () => {
    const test = await arrange()
    const browser = await signInWithCookie(test)
    assert.equal((await change(test, browser)).status, 204)
    assert.equal((await test.request('GET', '/session', browser)).status, 200)
  })

  test('an account without a password is 409', async () => {
    const test = await arrange()
    const { token } = await createPerson(test.db)
    assert.equal((await change(test, { token })).status, 409)
  })

  test('a new password that is too short is 422', async () => {
    const test = await arrange()
    const answer = await change(test, { token: test.person.token }, { new_password: 'short' })
    assert.deepEqual([answer.status, Object.keys(answer.body.errors)], [422, ['new_password']])
  })

  test('of two concurrent changes with the same old password one wins', async () => {
    const test = await arrange()
    const token = await signIn(test)
    const changes = ['first horse', 'second horse'].map((new_password) =>
      change(test, { token }, { new_password }),
    )
    const statuses = (await Promise.all(changes)).map(({ status }) => status)
    assert.deepEqual(statuses.sort(), [204, 422])
  })
})

suite('sessions', () => {
  test('are listed with where they came from, newest first, and the current one is marked', async () => {
    const test = await arrange()
    await signIn(test, { 'user-agent': 'curl/8.5' })
    const browser = await signInWithCookie(test)
    const all = await sessionsOf(test, browser)
    assert.equal(all.length, 3)
    assert.deepEqual(
      all.map(({ kind, current }: Record<string, unknown>) => [kind, current]),
      [
        ['browser', true],
        ['api', false],
        ['api', false],
      ],
    )
    assert.deepEqual(Object.keys(all[1]), [
      ...['id', 'kind', 'current', 'ip_address', 'user_agent', 'created_at', 'last_used_at', 'expires_at'],
    ])
    assert.deepEqual([all[1].ip_address, all[1].user_agent], [test.address, 'curl/8.5'])
    const days = (Date.parse(all[1].expires_at) - Date.now()) / 86_400_000
    assert.ok(days > 29.9 && days <= 30, `${days} days: refresh tokens count`)
  })

  test('a hostile user agent is stored short and printable', async () => {
    const test = await arrange()
    const token = await signIn(test, { 'user-agent': `a\u0085b\t${'x'.repeat(1_000)}` })
    const [session] = await sessionsOf(test, { token })
    assert.equal(session.user_agent, `a?b?${'x'.repeat(251)}`)
  })

  test('show when they were last used, to the minute', async () => {
    const test = await arrange()
    const { db, person } = test
    await db
      .updateTable('sessions')
      .set({ last_used_at: new Date(Date.now() - 3_600_000) })
      .where('user_id', '=', person.id)
      .execute()
    await isValid(test, person.token)
    const [session] = await sessionsOf(test, { token: person.token })
    assert.ok(Date.now() - Date.parse(session.last_used_at) < 60_000)
  })

  test('ending one revokes its tokens at once, in every process, and leaves the others', async () => {
    const test = await arrange()
    const tokens = (await logIn(test)).body
    const [{ id }] = await sessionsOf(test, { token: tokens.access_token })
    const end = () => test.request('DELETE', `/users/me/sessions/${id}`, { token: test.person.token })
    assert.equal((await end()).status, 204)
    assert.equal(await isValid(test, tokens.access_token), false)
    assert.equal((await refresh(test, tokens.refresh_token)).status, 401)
    assert.ok(await isValid(test, test.person.token))
    assert.equal((await sessionsOf(test, { token: test.person.token })).length, 1)
    assert.equal((await end()).status, 404)
    assert.deepEqual((await auditOf(test, test.person, 'session_ended'))[0]!.after, { session_id: id })
  })

  test('of others cannot be ended', async () => {
    const test = await arrange()
    const other = await createPerson(test.db)
    const [{ id }] = await sessionsOf(test, { token: other.token })
    const answer = await test.request('DELETE', `/users/me/sessions/${id}`, { token: test.person.token })
    assert.equal(answer.status, 404)
    assert.ok(await isValid(test, other.token))
  })

  test('ending the current one of a browser clears its cookie', async () => {
    const test = await arrange()
    const browser = await signInWithCookie(test)
    const [{ id }] = await sessionsOf(test, browser)
    const answer = await test.request('DELETE', `/users/me/sessions/${id}`, browser)
    assert.equal(answer.status, 204)
    assert.match(String(answer.headers['set-cookie']), /^gantry_session=; .*Max-Age=0/)
    assert.equal((await test.request('GET', '/session', browser)).status, 401)
  })

  test('ending all of them includes the current one, and leaves personal tokens and other users', async () => {
    const test = await arrange()
    const other = await createPerson(test.db)
    const personal = await createToken(test, test.person)
    const [token, browser] = [await signIn(test), await signInWithCookie(test)]
    const answer = await test.request('POST', '/users/me/sessions/end-all', browser)
    assert.equal(answer.status, 204)
    assert.match(String(answer.headers['set-cookie']), /^gantry_session=; /)
    for (const one of [token, test.person.token]) assert.equal(await isValid(test, one), false)
    assert.equal((await test.request('GET', '/session', browser)).status, 401)
    for (const one of [personal.token, other.token]) assert.ok(await isValid(test, one))
    assert.deepEqual((await auditOf(test, test.person, 'session_ended'))[0]!.after, { sessions: 3 })
  })

  test('that expired are not listed', async () => {
    const test = await arrange()
    await createAccessToken(test.db, test.person.id, new Date(Date.now() - 1_000))
    assert.equal((await sessionsOf(test, { token: test.person.token })).length, 1)
  })

  test('a refresh continues the same session', async () => {
    const test = await arrange()
    const first = (await logIn(test)).body
    const before = await sessionsOf(test, { token: first.access_token })
    const second = (await refresh(test, first.refresh_token)).body
    const now = await sessionsOf(test, { token: second.access_token })
    assert.deepEqual([now.length, now[0].id, now[0].current], [before.length, before[0].id, true])
  })
})

suite('the audit log', () => {
  test('has sign-ins, failures and sign-outs with their address, and no secrets', async () => {
    const test = await arrange()
    const token = await signIn(test)
    await logIn(test, test.person.email, 'wrong password')
    await test.request('POST', '/users/logout', { token, address: test.address })
    const entries = await auditOf(test, test.person)
    assert.deepEqual(
      entries.map(({ verb, after, user_id }) => [verb, after, user_id]),
      [
        ['signed_out', null, test.person.id],
        ['sign_in_failed', { method: 'password' }, null],
        ['signed_in', { method: 'password' }, test.person.id],
      ],
    )
    for (const { ip_address, organization_id } of entries)
      assert.deepEqual([ip_address, organization_id], [test.address, null])
    assert.doesNotMatch(JSON.stringify(entries), /gty_|wrong password|correct horse/)
  })

  test('does not have failures beyond the limit one by one', async () => {
    const test = await arrange()
    for (let number = 0; number < 14; number++) await logIn(test, test.person.email, `guess ${number}`)
    assert.equal((await auditOf(test, test.person, 'sign_in_failed')).length, 10)
  })

  test('has a personal token that revokes itself', async () => {
    const test = await arrange()
    const personal = await createToken(test, test.person)
    await test.request('POST', '/users/logout', { token: personal.token })
    const entry = await test.db
      .selectFrom('audit_entries')
      .selectAll()
      .where('subject_type', '=', 'personal_access_token')
      .where('subject_id', '=', String(personal.id))
      .where('verb', '=', 'revoked')
      .executeTakeFirst()
    assert.deepEqual([entry?.user_id, entry?.subject_name], [test.person.id, 'CI'])
  })
})
