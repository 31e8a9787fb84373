// Inviting people to an organization, and what their links allow.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { sql } from 'kysely'
import { pino } from 'pino'
import { acceptInvitation, invite as inviteTo, PASSWORD } from '#test/support/accounts.ts'
import { openTestApp, type RequestOptions, TEST_BASE_URL } from '#test/support/harness.ts'
import { untilLockWait } from '#test/support/until.ts'
import { addEnvironment, createMember, createPerson, createTestTree, grantRole } from '#test/support/world.ts'

const api = await openTestApp({ after })
const { db, request, statements } = api
const tree = await createTestTree(db)
const { organizationId } = tree
const { token } = tree.owner
const admin = await createMember(db, tree, 'admin')
const elsewhere = await createTestTree(db)

let counter = 0
const newEmail = () => `invited${++counter}@example.com`
const path = (organization = organizationId) => `/organizations/${organization}/invitations`
const create = (body: object, as = token) => request('POST', path(), { token: as, body })
const invite = (body: object, as = token) => inviteTo(api, organizationId, as, body)
const inviteElsewhere = (body: object) => inviteTo(api, elsewhere.organizationId, elsewhere.owner.token, body)
const remove = (id: number, as = token) => request('DELETE', `${path()}/${id}`, { token: as })
const accept = (link: string, more?: object) => acceptInvitation(api, link, more)
const acceptAs = (link: string, options: RequestOptions) =>
  request('POST', '/users/accept-invitation', { body: { token: link }, ...options })
const read = (link: string) => request('POST', '/users/read-invitation', { body: { token: link } })
const me = (as: string) => request('GET', '/users/me', { token: as })
const canSee = async (as: string, organization = organizationId) =>
  (await request('GET', `/organizations/${organization}`, { token: as })).status === 200

async function findUsers(email: string) {
  return db.selectFrom('users').select('id').where(sql`lower(email)`, '=', email.toLowerCase()).execute()
}

/** Neither reads nor accepts; the response is the same for every reason. */
async function assertNotValid(link: string, options: RequestOptions = {}): Promise<void> {
  const answers = [await read(link), await accept(link), await acceptAs(link, options)]
  for (const { status, body } of answers)
    assert.deepEqual(
      [status, body.errors],
      [422, { token: ['is unknown, used or expired: ask for a new invitation'] }],
    )
}

suite('somebody new', () => {
  test('has no account until they accept, and is signed in with it then', async () => {
    const email = newEmail()
    const { status, body } = await create({ email, name: 'Ada', role: 'developer' })
    assert.equal(status, 201)
    assert.deepEqual([body.email, body.name, body.organization_id], [email, 'Ada', organizationId])
    assert.equal(body.created_by_user.id, tree.owner.id)
    const days = (Date.parse(body.expires_at) - Date.now()) / 86_400_000
    assert.ok(days > 6.9 && days < 7.1, String(days))
    assert.ok(body.url.startsWith(`${TEST_BASE_URL}/app/invitation#gty_in_`), body.url)
    assert.deepEqual(await findUsers(email), [])
    const listed = await request('GET', `${path()}?filter[name]=${email}`, { token })
    assert.deepEqual(listed.body, [{ ...body, url: null }])

    const link = new URL(body.url).hash.slice(1)
    const organization = await request('GET', `/organizations/${organizationId}`, { token })
    assert.deepEqual((await read(link)).body, {
      organization_name: organization.body.name,
      email,
      name: 'Ada',
      grants: [{ role_name: 'developer', project_name: null, environment_name: null }],
      account: 'new',
      expires_at: body.expires_at,
    })
    for (const password of [undefined, 'short']) {
      const refused = await accept(link, { password })
      assert.deepEqual([refused.status, Object.keys(refused.body.errors)], [422, ['password']])
    }
    const accepted = await accept(link)
    assert.equal(accepted.status, 200, accepted.text)
    assert.deepEqual([accepted.body.user.name, accepted.body.user.email], ['Ada', email])
    assert.equal((await me(accepted.body.access_token)).body.email, email)
    assert.equal(await canSee(accepted.body.access_token), true)
    const login = await request('POST', '/users/login', { body: { email, password: PASSWORD } })
    assert.equal(login.status, 200)
    await assertNotValid(link)
    assert.deepEqual((await request('GET', `${path()}?filter[name]=${email}`, { token })).body, [])
  })

  test('may choose another name; without one it is the first part of the address', async () => {
    const named = await invite({ email: newEmail(), name: 'Ada', role: 'viewer' })
    assert.equal((await accept(named.link, { name: 'Ada L.' })).body.user.name, 'Ada L.')
    const email = newEmail()
    const unnamed = await invite({ email, role: 'viewer' })
    assert.equal((await accept(unnamed.link)).body.user.name, email.split('@')[0])
  })

  test("gets the session cookie instead of tokens on Gantry's own pages", async () => {
    const { link } = await invite({ email: newEmail(), role: 'viewer' })
    const answer = await acceptAs(link, {
      body: { token: link, password: PASSWORD },
      headers: { 'x-gantry-request': '1', cookie: 'gantry_session=gty_at_expired' },
    })
    const { user, ...tokens } = answer.body
    assert.deepEqual(Object.values(tokens), [null, null, null, null])
    const cookie = String(answer.headers['set-cookie']).split(';')[0]!
    assert.equal((await request('GET', '/session', { headers: { cookie } })).body.user.id, user.id)
  })

  test('is not created while somebody else is signed in, and the link stays usable', async () => {
    const { link } = await invite({ email: newEmail(), role: 'viewer' })
    const answer = await acceptAs(link, { token, body: { token: link, password: PASSWORD } })
    assert.equal(answer.status, 403)
    assert.match(answer.body.message, /sign out/)
    assert.equal((await acceptAs(link, { token: 'gty_at_unknown' })).status, 401)
    assert.equal((await accept(link)).status, 200)
  })
})

suite('the holder of an account', () => {
  test('accepts while signed in to it, in every process, and nobody else can', async (t) => {
    const beside = await openTestApp(t, { beside: api })
    const person = await createPerson(db)
    const { link } = await invite({ email: person.email.toUpperCase(), role: 'viewer' })
    assert.equal((await read(link)).body.account, 'existing')
    for (const more of [{}, { password: undefined }]) {
      const anonymous = await accept(link, more)
      assert.equal(anonymous.status, 401)
      assert.match(anonymous.body.message, new RegExp(`Sign in as ${person.email}`))
    }
    assert.equal((await acceptAs(link, { token: admin.token })).status, 403)
    const options = { token: person.token }
    const withPassword = await acceptAs(link, { ...options, body: { token: link, password: PASSWORD } })
    assert.deepEqual([withPassword.status, Object.keys(withPassword.body.errors)], [422, ['password']])
    const personal = await request('POST', '/users/personal-access-tokens', {
      ...options,
      body: { name: 'CI' },
    })
    assert.equal((await acceptAs(link, { token: personal.body.token })).status, 403)
    assert.equal(await canSee(person.token), false)

    const accepted = await acceptAs(link, options)
    assert.equal(accepted.status, 200, accepted.text)
    const { user, ...tokens } = accepted.body
    assert.equal(user.id, person.id)
    assert.deepEqual(Object.values(tokens), [null, null, null, null])
    const seen = await beside.request('GET', `/organizations/${organizationId}`, options)
    assert.equal(seen.status, 200)
    await assertNotValid(link, options)
  })

  test("accepts with the cookie of a browser on Gantry's own pages only", async () => {
    const person = await createPerson(db)
    const { link } = await invite({ email: person.email, role: 'viewer' })
    const cookie = `gantry_session=${person.token}`
    const foreign = { 'x-gantry-request': '1', origin: 'https://evil.example' }
    for (const headers of [{ cookie }, { cookie, ...foreign }] as Record<string, string>[])
      assert.equal((await acceptAs(link, { headers })).status, 403)
    assert.equal(await canSee(person.token), false)
    const headers = { cookie, 'x-gantry-request': '1', origin: TEST_BASE_URL }
    assert.equal((await acceptAs(link, { headers })).status, 200)
    assert.equal(await canSee(person.token), true)
  })

  test('who was deactivated cannot join', async () => {
    const person = await createPerson(db)
    const { link } = await invite({ email: person.email, role: 'viewer' })
    await db.updateTable('users').set({ active: false }).where('id', '=', person.id).execute()
    await assertNotValid(link)
  })

  test('keeps what they got in the meantime, and gets each grant once', async () => {
    const person = await createPerson(db)
    const { link } = await invite({ email: person.email, role: 'viewer' })
    await grantRole(db, person.id, 'viewer', { organizationId })
    await grantRole(db, person.id, 'developer', { organizationId, projectId: tree.projectId })
    assert.equal((await acceptAs(link, { token: person.token })).status, 200)
    const member = await request('GET', `/organizations/${organizationId}/members/${person.id}`, { token })
    assert.equal(member.body.grants.length, 2)
  })
})

suite('an attacker who invites the address of somebody else', () => {
  test('and accepts the link is not inside another organization that invites the address later', async () => {
    const victim = newEmail()
    const bait = await inviteElsewhere({ email: victim, role: 'viewer' })
    const squatter = (await accept(bait.link)).body.access_token
    assert.equal((await me(squatter)).body.email, victim)
    const { link } = await invite({ email: victim, role: 'admin' })
    assert.equal(await canSee(squatter), false)
    const organizations = await request('GET', '/organizations', { token: squatter })
    assert.deepEqual(
      organizations.body.map(({ id }: { id: number }) => id),
      [elsewhere.organizationId],
    )
    await assertNotValid(bait.link, { token: squatter })
    // The real holder of the address has the link, but does not get the account: an administrator resets it.
    assert.equal((await accept(link)).status, 401)
    assert.equal((await read(link)).status, 200)
  })

  test('before it has an account gets nothing when both invitations are pending', async () => {
    const victim = newEmail()
    const bait = await inviteElsewhere({ email: victim, role: 'owner' })
    const { link } = await invite({ email: victim, role: 'admin' })
    const real = (await accept(link)).body.access_token
    assert.equal(await canSee(real), true)
    assert.equal(await canSee(real, elsewhere.organizationId), false)
    assert.equal((await accept(bait.link)).status, 401)
    assert.equal((await acceptAs(bait.link, { token: elsewhere.owner.token })).status, 403)
    assert.equal((await acceptAs(bait.link, { token: real })).status, 200)
  })

  test('who has an account cannot accept in their place', async () => {
    const person = await createPerson(db)
    const { link } = await inviteElsewhere({ email: person.email, role: 'viewer' })
    assert.equal((await accept(link)).status, 401)
    assert.equal((await acceptAs(link, { token: elsewhere.owner.token })).status, 403)
    assert.equal((await read(link)).status, 200, 'the link stays usable')
    const login = await request('POST', '/users/login', { body: { email: person.email, password: PASSWORD } })
    assert.equal(login.status, 401, 'no password was set')
  })

  test('learns nothing from the response: known and unknown addresses cause the same work', async () => {
    const person = await createPerson(db)
    await inviteElsewhere({ email: 'both@example.com', role: 'viewer' })
    const shapes: object[] = []
    for (const email of [newEmail(), person.email, elsewhere.owner.email, 'both@example.com']) {
      statements.length = 0
      const { status, headers, body } = await create({ email, role: 'viewer' })
      shapes.push({ status, headers: Object.keys(headers), fields: Object.keys(body), work: [...statements] })
    }
    for (const shape of shapes) assert.deepEqual(shape, shapes[0])
  })
})

suite('an invitation', () => {
  test('of a member is 409', async () => {
    for (const email of [tree.owner.email, admin.email.toUpperCase()])
      assert.equal((await create({ email, role: 'viewer' })).status, 409)
  })

  test('replaces the earlier one of the same address', async () => {
    const email = newEmail()
    const first = await invite({ email, role: 'developer' })
    const second = await invite({ email: email.toUpperCase(), role: 'viewer' })
    await assertNotValid(first.link)
    const listed = await request('GET', `${path()}?filter[name]=${email.split('@')[0]}@`, { token })
    assert.deepEqual(
      listed.body.map(({ id }: { id: number }) => id),
      [second.id],
    )
    assert.equal((await read(second.link)).body.grants[0].role_name, 'viewer')
  })

  test('is replaced and removed only by somebody who could grant it', async () => {
    const email = newEmail()
    const { id, link } = await invite({ email, role: 'owner' })
    assert.equal((await create({ email, role: 'viewer' }, admin.token)).status, 403)
    assert.equal((await remove(id, admin.token)).status, 403)
    assert.equal((await read(link)).status, 200)
    await sql`update invitations set expires_at = now() where id = ${id}`.execute(db)
    const again = await create({ email, role: 'viewer' }, admin.token)
    assert.equal(again.status, 201, 'an expired one grants nothing any more')
    assert.equal((await remove(again.body.id, admin.token)).status, 204)
    assert.equal((await remove(again.body.id)).status, 404)
  })

  test('that has expired, was removed or never existed is one answer', async () => {
    const [expired, removed] = [
      await invite({ email: newEmail(), role: 'viewer' }),
      await invite({ email: newEmail(), role: 'viewer' }),
    ]
    await sql`update invitations set expires_at = now() where id = ${expired.id}`.execute(db)
    assert.equal((await remove(removed.id)).status, 204)
    for (const link of [expired.link, removed.link, 'gty_in_x', token]) await assertNotValid(link)
  })

  test('of another organization can be neither seen nor removed', async () => {
    const { id, link } = await inviteElsewhere({ email: newEmail(), role: 'viewer' })
    assert.equal((await remove(id)).status, 404)
    assert.equal((await request('GET', path(elsewhere.organizationId), { token })).status, 404)
    assert.equal((await read(link)).status, 200)
  })

  test('requires the permission', async () => {
    const viewer = await createMember(db, tree, 'viewer')
    const { id } = await invite({ email: newEmail(), role: 'viewer' })
    assert.equal((await create({ email: newEmail(), role: 'viewer' }, viewer.token)).status, 403)
    assert.equal((await remove(id, viewer.token)).status, 403)
    assert.equal((await request('GET', path(), { token: viewer.token })).status, 200)
  })

  test('stores no link that could be read from the database', async () => {
    const { link } = await invite({ email: newEmail(), role: 'viewer' })
    const { rows } = await sql<{ text: string }>`
      select (select string_agg(i::text, '') from invitations i) || (select string_agg(e::text, '') from audit_entries e)
        as text`.execute(db)
    assert.ok(!rows[0]!.text.includes(link))
  })

  test('leaves no link and no password in the log', async (t) => {
    const lines: string[] = []
    const log = pino({ level: 'trace' }, { write: (line: string) => lines.push(line) })
    const logged = await openTestApp(t, { beside: api, log })
    const { link } = await inviteTo(logged, organizationId, token, { email: newEmail(), role: 'viewer' })
    await logged.request('POST', '/users/read-invitation', { body: { token: link } })
    await acceptInvitation(logged, link, { name: '' })
    assert.equal((await acceptInvitation(logged, link)).status, 200)
    assert.ok(lines.some((line) => line.includes('accept-invitation')))
    for (const secret of [link, PASSWORD]) assert.ok(!lines.join('').includes(secret))
  })

  test('is in the audit log when it is created, removed and accepted', async () => {
    const email = newEmail()
    await invite({ email, role: 'viewer' })
    const { link } = await invite({ email, role: 'developer' })
    const { body } = await accept(link)
    const entries = await request('GET', `/organizations/${organizationId}/audit?per_page=4`, { token })
    assert.deepEqual(
      entries.body.map((entry: Record<string, unknown>) => [
        entry.verb,
        entry.subject_type,
        entry.subject_name,
        (entry.user as { id: number }).id,
      ]),
      [
        ['joined', 'member', email, body.user.id],
        ['created', 'invitation', email, tree.owner.id],
        ['removed', 'invitation', email, tree.owner.id],
        ['created', 'invitation', email, tree.owner.id],
      ],
    )
  })
})

suite('what an invitation offers', () => {
  test('on one environment grants nothing outside of it', async () => {
    const other = await addEnvironment(db, tree.owner.id, tree.projectId, tree.credentialId)
    const { link } = await invite({
      email: newEmail(),
      role: 'developer',
      environment_id: tree.environmentId,
    })
    const [offered] = (await read(link)).body.grants
    assert.match(offered.project_name, /^Project/)
    assert.ok(offered.environment_name)
    const { access_token } = (await accept(link)).body
    const see = async (id: number) =>
      (await request('GET', `/environments/${id}`, { token: access_token })).status
    assert.deepEqual([await see(tree.environmentId), await see(other.environmentId)], [200, 404])
  })

  test('requires exactly one role, and an email address', async () => {
    for (const [field, body] of [
      ['role', { email: newEmail() }],
      ['role', { email: newEmail(), role: 'viewer', role_id: 1 }],
      ['email', { email: 'nobody', role: 'viewer' }],
      ['role', { email: newEmail(), role: 'king' }],
    ] as const) {
      const answer = await create(body)
      assert.deepEqual([answer.status, Object.keys(answer.body.errors)], [422, [field]])
    }
  })

  test('is at most what the inviter has, and the error lists the missing permissions', async () => {
    const { status, body } = await create({ email: newEmail(), role: 'owner' }, admin.token)
    assert.equal(status, 403)
    assert.match(body.message, /you lack organization:remove there/)
  })

  test('can be limited to the project that the inviter has permissions on', async () => {
    const { id } = await addRole(['organization:view', 'member:add', 'member:view', 'project:view'])
    const person = await createPerson(db)
    await db
      .insertInto('grants')
      .values({ user_id: person.id, role_id: id, organization_id: organizationId })
      .execute()
    const { projectId } = tree
    await grantRole(db, person.id, 'developer', { organizationId, projectId })
    const email = newEmail()
    assert.equal((await create({ email, role: 'viewer' }, person.token)).status, 403)
    const limited = await create({ email, role: 'viewer', project_id: projectId }, person.token)
    assert.equal(limited.status, 201)
  })

  test('is void once the inviter could not grant it any more', async () => {
    const inviter = await createMember(db, tree, 'admin')
    const { link } = await invite({ email: newEmail(), role: 'admin' }, inviter.token)
    const member = `/organizations/${organizationId}/members/${inviter.id}`
    const demoted = { token, body: { grants: [{ role: 'viewer' }] } }
    assert.equal((await request('PUT', member, demoted)).status, 200)
    await assertNotValid(link)
    const promoted = { token, body: { grants: [{ role: 'admin' }] } }
    assert.equal((await request('PUT', member, promoted)).status, 200)
    assert.equal((await read(link)).status, 200)
    await db.updateTable('users').set({ active: false }).where('id', '=', inviter.id).execute()
    await assertNotValid(link)
  })

  test('is void when its custom role allows more than the inviter has', async () => {
    const role = await addRole(['hook:view'])
    const { link } = await invite({ email: newEmail(), role_id: role.id }, admin.token)
    assert.equal((await read(link)).body.grants[0].role_name, role.name)
    const body = { permissions: ['organization:remove'] }
    assert.equal((await request('PUT', `/roles/${role.id}`, { token, body })).status, 200)
    await assertNotValid(link)
    const inUse = await request('DELETE', `/roles/${role.id}`, { token })
    assert.deepEqual([inUse.status, inUse.body.errors], [409, { invitations: ['1 invitation offers it'] }])
  })

  test('ends with the project or environment that it is limited to', async () => {
    const other = await createTestTree(db)
    const options = { token: other.owner.token }
    const inviteThere = (more: object) =>
      inviteTo(api, other.organizationId, options.token, { email: newEmail(), role: 'viewer', ...more })
    const limited = await inviteThere({ environment_id: other.environmentId })
    const whole = await inviteThere({})
    const gone = await request('DELETE', `/projects/${other.projectId}?cascade=true`, options)
    assert.equal(gone.status, 204, gone.text)
    await assertNotValid(limited.link)
    const listed = await request('GET', path(other.organizationId), options)
    assert.deepEqual(
      listed.body.map(({ id }: { id: number }) => id),
      [whole.id],
    )
  })

  async function addRole(permissions: string[]): Promise<{ id: number; name: string }> {
    const body = { name: `Role ${++counter}`, permissions }
    const answer = await request('POST', `/organizations/${organizationId}/roles`, { token, body })
    assert.equal(answer.status, 201, answer.text)
    return answer.body
  }
})

suite('at the same time', () => {
  test('of three acceptances one works', async () => {
    const email = newEmail()
    const { link } = await invite({ email, role: 'viewer' })
    const answers = await Promise.all([1, 2, 3].map(() => accept(link)))
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 422, 422])
    assert.equal((await findUsers(email)).length, 1)
  })

  test('an acceptance and a removal have one winner', async () => {
    for (let round = 0; round < 5; round++) {
      const email = newEmail()
      const { id, link } = await invite({ email, role: 'viewer' })
      const [accepted, removed] = await Promise.all([accept(link), remove(id)])
      assert.deepEqual([accepted.status, removed.status], accepted.status === 200 ? [200, 404] : [422, 204])
      assert.equal((await findUsers(email)).length, accepted.status === 200 ? 1 : 0)
    }
  })

  test('accepting invitations of two organizations creates one account', async () => {
    const email = newEmail()
    const links = [await invite({ email, role: 'viewer' }), await inviteElsewhere({ email, role: 'viewer' })]
    const answers = await Promise.all(links.map(({ link }) => accept(link)))
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 401])
    assert.equal((await findUsers(email)).length, 1)
  })

  test('inviting an address twice leaves one link', async () => {
    const email = newEmail()
    const made = await Promise.all([1, 2, 3].map(() => invite({ email, role: 'viewer' })))
    const found = await Promise.all(made.map(({ link }) => read(link)))
    assert.deepEqual(found.map(({ status }) => status).sort(), [200, 422, 422])
  })

  test('an acceptance waits for a deactivation of the inviter, and fails with it', async () => {
    const inviter = await createMember(db, tree, 'admin')
    const email = newEmail()
    const { link } = await invite({ email, role: 'viewer' }, inviter.token)
    const { waiting } = await db.transaction().execute(async (trx) => {
      await trx.updateTable('users').set({ active: false }).where('id', '=', inviter.id).execute()
      const waiting = accept(link)
      await untilLockWait(db)
      return { waiting }
    })
    assert.equal((await waiting).status, 422)
    assert.deepEqual(await findUsers(email), [])
  })

  test('a revoked permission is not offered by a request that was already in flight', async () => {
    const helper = await createMember(db, tree, 'admin')
    // Locks the organization as another change would: the request below passes its first check and waits.
    const { waiting } = await db.transaction().execute(async (trx) => {
      await sql`select id from organizations where id = ${organizationId} for no key update`.execute(trx)
      const waiting = create({ email: newEmail(), role: 'admin' }, helper.token)
      await untilLockWait(db)
      await trx.deleteFrom('grants').where('user_id', '=', helper.id).execute()
      return { waiting }
    })
    assert.equal((await waiting).status, 403)
  })
})
