// Personal access tokens: creating, listing, using and revoking them.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, suite, test } from 'node:test'
import { sql } from 'kysely'
import { lockUser, revokeSessions } from '#access/accounts/manage-sessions.ts'
import { hashToken } from '#platform/crypto/tokens.ts'
import { createToken, expire, isValid, openAccounts } from '#test/support/accounts.ts'
import type { Answer } from '#test/support/harness.ts'
import { untilLockWait } from '#test/support/until.ts'
import { createPerson } from '#test/support/world.ts'

const arrange = await openAccounts({ after })

suite('personal access tokens', () => {
  test('a token is shown once, when it is created, and works', async () => {
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
    assert.deepEqual([shown.last_used_at, shown.last_used_ip], [null, null])
    assert.deepEqual([shown.scopes, shown.organization_ids, shown.project_ids], [null, null, null])
    const list = await request('GET', '/users/personal-access-tokens', { token: person.token })
    assert.deepEqual(list.body, [shown])
    assert.ok(await isValid(test, token))
  })

  test('the list shows when a token was last used', async () => {
    const test = await arrange()
    const { token } = await createToken(test, test.person)
    await isValid(test, token)
    const { body } = await test.request('GET', '/users/personal-access-tokens', { token: test.person.token })
    assert.ok(Math.abs(Date.now() - Date.parse(body[0].last_used_at)) < 60_000)
  })

  test('the list shows from where a token was last used, accurate to a minute', async () => {
    const test = await arrange()
    const { id, token } = await createToken(test, test.person)
    const useFrom = (address: string) => test.request('GET', '/users/me', { token, address })
    const lastUsedFrom = async () => {
      const list = await test.request('GET', '/users/personal-access-tokens', { token: test.person.token })
      return list.body[0].last_used_ip
    }
    await Promise.all([useFrom('198.51.100.7'), useFrom('198.51.100.7')])
    assert.equal(await lastUsedFrom(), '198.51.100.7')
    await test.db
      .updateTable('tokens')
      .set({ used_at: sql<string>`now() - interval '61 seconds'` })
      .where('id', '=', id)
      .execute()
    await useFrom('2001:db8::7')
    assert.equal(await lastUsedFrom(), '2001:db8::7')
  })

  test('a token with a wrong checksum is refused without asking the database', async () => {
    const test = await arrange()
    const { token } = await createToken(test, test.person)
    const wrong = token.slice(0, -1) + (token.endsWith('0') ? '1' : '0')
    test.statements.length = 0
    assert.equal(await isValid(test, wrong), false)
    assert.deepEqual(test.statements, [])
  })

  test('a token of the format without a checksum keeps working', async () => {
    const test = await arrange()
    const token = `gty_pat_${randomBytes(32).toString('base64url')}`
    const row = { user_id: test.person.id, kind: 'personal' as const, name: 'Old', hash: hashToken(token) }
    await test.db.insertInto('tokens').values(row).execute()
    assert.ok(await isValid(test, token))
  })

  test('a token revokes itself by logging out', async () => {
    const test = await arrange()
    for (const scopes of [null, ['run']]) {
      const { token } = await createToken(test, test.person, { scopes })
      assert.equal((await test.request('POST', '/users/logout', { token })).status, 204)
      assert.equal(await isValid(test, token), false)
    }
    assert.ok(await isValid(test, test.person.token), 'the login stays')
  })

  test('creating and revoking are audited, without the token', async () => {
    const test = await arrange()
    const { request, person, db } = test
    const limits = { scopes: ['read', 'run'], expires_at: '2040-01-01T00:00:00.000Z' }
    const one = await createToken(test, person, limits)
    const other = await createToken(test, person)
    await request('DELETE', `/users/personal-access-tokens/${one.id}`, {
      token: person.token,
      address: '2001:db8::9',
    })
    await request('POST', '/users/logout', { token: other.token })
    const entries = await db
      .selectFrom('audit_entries')
      .selectAll()
      .where('user_id', '=', person.id)
      .orderBy('id')
      .execute()
    const stored = { ...limits, organization_ids: null, project_ids: null }
    assert.deepEqual(
      entries.map(({ verb, subject_type, subject_id, organization_id }) => [
        verb,
        subject_type,
        Number(subject_id),
        organization_id,
      ]),
      [
        ['created', 'personal_access_token', one.id, null],
        ['created', 'personal_access_token', other.id, null],
        ['revoked', 'personal_access_token', one.id, null],
        ['revoked', 'personal_access_token', other.id, null],
      ],
    )
    assert.deepEqual([entries[0]!.before, entries[0]!.after], [null, stored])
    assert.deepEqual([entries[2]!.before, entries[2]!.after], [stored, null])
    assert.equal(entries[2]!.ip_address, '2001:db8::9')
    for (const secret of [one.token, other.token, one.token.slice(8)])
      assert.ok(!JSON.stringify(entries).includes(secret))
  })

  test('no token is created with a login that ends at the same moment', async () => {
    const test = await arrange()
    const { request, person, db } = test
    let creating: Promise<Answer> | undefined
    await db.transaction().execute(async (trx) => {
      await lockUser(trx, person.id)
      creating = request('POST', '/users/personal-access-tokens', {
        token: person.token,
        body: { name: 'Late' },
      })
      await untilLockWait(db)
      await revokeSessions(trx, person.id)
    })
    assert.equal((await creating!).status, 403)
    const left = await db
      .selectFrom('tokens')
      .select('id')
      .where('user_id', '=', person.id)
      .where('revoked_at', 'is', null)
      .execute()
    assert.deepEqual(left, [])
  })

  test('a token cannot create one that outlives it', async () => {
    const test = await arrange()
    const expires_at = '2040-01-01T00:00:00.000Z'
    const { token } = await createToken(test, test.person, { expires_at })
    for (const later of [undefined, null, '2040-01-01T00:00:00.001Z']) {
      const body = { name: 'Longer', expires_at: later }
      const answer = await test.request('POST', '/users/personal-access-tokens', { token, body })
      assert.deepEqual([answer.status, Object.keys(answer.body.errors ?? {})], [422, ['expires_at']])
    }
    await createToken(test, { ...test.person, token }, { expires_at })
  })

  test('scopes that are unknown, repeated or none at all are rejected by name', async () => {
    const { request, person } = await arrange()
    for (const [scopes, field] of [
      [[], 'scopes'],
      [['read', 'read'], 'scopes'],
      [['write'], 'scopes.0'],
      ['read', 'scopes'],
      [[null], 'scopes.0'],
    ] as const) {
      const body = { name: 'x', scopes }
      const answer = await request('POST', '/users/personal-access-tokens', { token: person.token, body })
      assert.deepEqual(
        [answer.status, Object.keys(answer.body.errors)],
        [422, [field]],
        JSON.stringify(scopes),
      )
    }
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

  test('a revoked token stops working and is no longer listed; revoking it again is 404', async () => {
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

  test('tokens of other users can neither be listed nor revoked', async () => {
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

  test('a token stops working when it expires', async () => {
    const test = await arrange()
    const expires_at = new Date(Date.now() + 3_600_000).toISOString()
    const made = await createToken(test, test.person, { expires_at })
    assert.equal(made.expires_at, expires_at)
    assert.ok(await isValid(test, made.token))
    await expire(test, made.token)
    assert.equal(await isValid(test, made.token), false)
  })

  test('every notation of a future time is accepted and shown in UTC', async () => {
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

  test('a time that is past, too distant or invalid is rejected', async () => {
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

  test('a token requires a visible name of 1 to 60 characters, in one line', async () => {
    const { request, person } = await arrange()
    for (const name of ['', '  ', 'two\nlines', '\u202Ereversed', 'x'.repeat(61), null, 1]) {
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
