// Answers of the API are not stored: by no browser, and by no proxy.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { hashPassword } from '#platform/crypto/passwords.ts'
import { type Answer, openTestApp, type RequestOptions } from '#test/support/harness.ts'
import { createPerson, createTestTree } from '#test/support/world.ts'

const { db, request } = await openTestApp({ after })
const password = 'correct horse battery'
const tree = await createTestTree(db)
const { token } = tree.owner
const admin = await createPerson(db, { admin: true, passwordHash: await hashPassword(password) })

async function assertNotStored(method: string, url: string, options: RequestOptions): Promise<Answer> {
  const answer = await request(method, url, options)
  assert.ok(answer.status < 300, `${method} ${url}: ${answer.text}`)
  assert.equal(answer.headers['cache-control'], 'no-store', `${method} ${url}`)
  return answer
}
const post = (url: string, body: object, by: RequestOptions = { token }) =>
  assertNotStored('POST', url, { ...by, body })

test('answers that carry a secret are not stored', async () => {
  const { body: tokens } = await post('/users/login', { email: admin.email, password }, {})
  await post('/users/refresh-token', { refresh_token: tokens.refresh_token }, {})
  await post('/users/personal-access-tokens', { name: 'CI' })
  await post(`/organizations/${tree.organizationId}/invitations`, {
    email: 'new@example.com',
    role: 'viewer',
  })
  const signed = { name: 'Push', requires_secret: true }
  const { body: hook } = await post(`/pipelines/${tree.pipelineId}/hooks/incoming`, signed)
  assert.ok(hook.secret && hook.url)
  await post(`/hooks/incoming/${hook.id}/rotate-secret`, {})
  await assertNotStored('PUT', `/hooks/incoming/${hook.id}`, { token, body: { active: false } })
  const urls = [
    `/hooks/incoming/${hook.id}`,
    `/pipelines/${tree.pipelineId}/hooks`,
    `/environments/${tree.environmentId}/hooks`,
    `/organizations/${tree.organizationId}/audit`,
    `/applications/${tree.applicationId}/variables`,
  ]
  for (const url of urls) await assertNotStored('GET', url, { token })
  const document = 'organization: Acme\nproject: {name: Shop}'
  await post('/apply', { document }, { token: admin.token })
  // It ends the sessions of the user.
  await post(`/users/${tree.owner.id}/password-reset`, {}, { token: admin.token })
})

test('neither are errors, which may quote what was sent', async () => {
  for (const [url, status] of [
    ['/users/me', 401],
    ['/nowhere', 404],
  ] as const) {
    const answer = await request('GET', url)
    assert.deepEqual([answer.status, answer.headers['cache-control']], [status, 'no-store'])
  }
})

test('what is the same for everybody may be stored, if it is asked for again', async () => {
  for (const url of ['/openapi.json', '/docs'])
    assert.equal(
      (await request('GET', url, { headers: { accept: '*/*' } })).headers['cache-control'],
      'no-cache',
    )
})
