// The audit log: every change through the management routes leaves an entry, and entries are immutable.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { sql } from 'kysely'
import { acceptInvitation, invite } from '#test/support/accounts.ts'
import { openTestApp } from '#test/support/harness.ts'
import { createMember, createPerson, createTestTree } from '#test/support/world.ts'

const { db, request } = await openTestApp({ after })
const tree = await createTestTree(db)
const { token } = tree.owner
const path = `/organizations/${tree.organizationId}/audit`

type Entry = {
  verb: string
  subject_type: string
  subject_id: string
  subject_name: string
  before: unknown
  after: unknown
}

async function entries(query = ''): Promise<Entry[]> {
  const answer = await request('GET', `${path}?${query}`, { token })
  assert.equal(answer.status, 200, answer.text)
  return answer.body
}

test('an entry records who changed what, from which address, before and after', async () => {
  const made = await request('POST', `/organizations/${tree.organizationId}/projects`, {
    token,
    body: { name: 'Audited' },
    address: '192.0.2.77',
  })
  const changed = await request('PUT', `/projects/${made.body.id}`, {
    token,
    body: { logo_url: 'https://example.com/l.png' },
  })
  await request('PUT', `/projects/${made.body.id}`, { token, body: {} })
  await request('DELETE', `/projects/${made.body.id}`, { token })
  const { body } = await request('GET', path, { token })
  const [removal, change, creation, ...earlier] = body
  assert.deepEqual(earlier, [], 'a change that changes nothing leaves no entry')
  const { id, occurred_at, user, ...rest } = creation
  assert.equal(user.id, tree.owner.id)
  assert.ok(id > 0 && occurred_at.endsWith('Z'))
  assert.deepEqual(rest, {
    organization_id: tree.organizationId,
    ip_address: '192.0.2.77',
    request_id: made.headers['x-request-id'],
    verb: 'created',
    subject_type: 'project',
    subject_id: String(made.body.id),
    subject_name: 'Audited',
    before: null,
    after: { name: 'Audited', logo_url: null },
  })
  assert.equal(change.request_id, changed.headers['x-request-id'])
  assert.deepEqual(
    [change.verb, change.before, change.after],
    [
      'changed',
      { name: 'Audited', logo_url: null },
      { name: 'Audited', logo_url: 'https://example.com/l.png' },
    ],
  )
  assert.deepEqual([removal.verb, removal.after], ['removed', null])
})

test('a rejected request leaves no entry', async () => {
  const before = await entries()
  const viewer = await createMember(db, tree, 'viewer')
  await request('PUT', `/projects/${tree.projectId}`, { token: viewer.token, body: { name: 'No' } })
  await request('PUT', `/projects/${tree.projectId}`, { token, body: { name: '' } })
  await request('DELETE', `/projects/${tree.projectId}`, { token })
  assert.deepEqual(await entries(), before)
})

test('everything that is removed with an environment has its own entry', async () => {
  const other = await createTestTree(db)
  const as = { token: other.owner.token }
  assert.equal((await request('DELETE', `/environments/${other.environmentId}?cascade=true`, as)).status, 204)
  const { body } = await request(
    'GET',
    `/organizations/${other.organizationId}/audit?filter[verb]=removed`,
    as,
  )
  const subjects = body.map((entry: Entry) => `${entry.subject_type} ${entry.subject_name}`)
  assert.deepEqual(subjects.slice(1).toSorted(), [
    'application Shop',
    'pipeline Deploy',
    'pipeline Restart',
    'server web-1',
    'server web-2',
  ])
  assert.match(subjects[0], /^environment /)
})

test('no entry contains a secret', async () => {
  const body = { email: 'secret@example.com', role: 'viewer' }
  const { link } = await invite({ request }, tree.organizationId, token, body)
  await acceptInvitation({ request }, link, { password: 'open sesame 1' })
  const { rows } = await sql<{
    text: string
  }>`select string_agg(e::text, '') as text from audit_entries e`.execute(db)
  assert.ok(rows[0]!.text.includes('secret@example.com'))
  for (const secret of [link, 'open sesame', 'argon2id']) assert.ok(!rows[0]!.text.includes(secret), secret)
})

suite('filters', () => {
  test('select by user, type of subject, verb and time', async () => {
    const admin = await createMember(db, tree, 'admin')
    const made = await request('POST', `/organizations/${tree.organizationId}/roles`, {
      token: admin.token,
      body: { name: 'Filtered', permissions: ['hook:view'] },
    })
    assert.equal(made.status, 201)
    const [entry] = (await request('GET', path, { token })).body
    const found = async (query: string) =>
      (await entries(query)).map((one) => `${one.verb} ${one.subject_name}`)
    assert.deepEqual(await found(`filter[user_id]=${admin.id}`), ['created Filtered'])
    assert.deepEqual(await found('filter[subject_type]=role'), ['created Filtered'])
    assert.deepEqual(await found('filter[subject_type]=role&filter[verb]=removed'), [])
    assert.deepEqual(await found('filter[verb]=secret%20rotated'), [])
    assert.ok((await found(`filter[created_after]=${entry.occurred_at}`)).includes('created Filtered'))
    assert.ok(!(await found(`filter[created_before]=${entry.occurred_at}`)).includes('created Filtered'))
  })

  test('that are invalid are rejected by name', async () => {
    for (const [name, value] of [
      ['filter[user_id]', '0'],
      ['filter[verb]', "x'; drop table users"],
      ['filter[created_after]', 'yesterday'],
      ['filter[created_after]', '0000-01-01T00:00:00Z'],
      ['filter[color]', 'red'],
    ] as const) {
      const answer = await request('GET', `${path}?${name}=${encodeURIComponent(value)}`, { token })
      assert.deepEqual([answer.status, Object.keys(answer.body.errors ?? {})], [422, [name]], value)
    }
  })

  test('are paginated with totals', async () => {
    const { body, headers } = await request('GET', `${path}?per_page=1&page=2`, { token })
    const all = await entries('per_page=100')
    assert.deepEqual(body, [all[1]])
    assert.equal(headers['x-total-count'], String(all.length))
  })
})

test('only callers who may edit the organization can read it', async () => {
  const developer = await createMember(db, tree, 'developer')
  assert.equal((await request('GET', path, { token: developer.token })).status, 403)
  const outsider = await createPerson(db, { admin: true })
  assert.equal((await request('GET', path, { token: outsider.token })).status, 404)
})

test('entries cannot be changed or removed, not even in the database', async () => {
  const refused = /never changed or removed/
  await assert.rejects(sql`update audit_entries set verb = 'nothing'`.execute(db), refused)
  await assert.rejects(sql`delete from audit_entries`.execute(db), refused)
  await assert.rejects(sql`truncate audit_entries`.execute(db), refused)
})
