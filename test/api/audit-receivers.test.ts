// The URL of a receiver is often its credential: the audit log shows it to the people who see it on the hook, too.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { openTestApp } from '#test/support/harness.ts'
import { createPerson, createTestTree } from '#test/support/world.ts'

const { db, request } = await openTestApp({ after })
const tree = await createTestTree(db)
const { token } = tree.owner
const admin = await createPerson(db, { admin: true })

const SECRET = 'T0KEN-OF-THE-RECEIVER'
const target_url = `https://chat.example.com/hooks/${SECRET}`

async function create(url: string, body: object) {
  const answer = await request('POST', url, { token, body })
  assert.ok(answer.status < 300, answer.text)
  return answer.body
}

/** A member whose role allows exactly this. */
async function createSpecialist(...permissions: string[]): Promise<string> {
  const url = `/organizations/${tree.organizationId}/roles`
  const role = await create(url, { name: permissions.join(), permissions })
  const person = await createPerson(db)
  await db
    .insertInto('grants')
    .values({ user_id: person.id, role_id: role.id, organization_id: tree.organizationId })
    .execute()
  return person.token
}

const hooks = `/pipelines/${tree.pipelineId}/hooks/outgoing`
const { id } = await create(hooks, {
  name: 'Chat',
  target_url,
  settings: { request_body: { key: SECRET, count: 1 } },
})
await request('PUT', `/hooks/outgoing/${id}`, { token, body: { target_url: `${target_url}/2` } })
const request_ = (path: string) => ({ target_url: `${target_url}/${path}`, request_body: { key: SECRET } })
await create(hooks, {
  name: 'Tickets',
  settings: {
    capture: [{ name: 'ticket', path: 'id' }],
    requests: { create: request_('create'), update: request_('update') },
  },
})

const ours = `/organizations/${tree.organizationId}/audit`
const read = async (url: string, by: string) => {
  const answer = await request('GET', url, { token: by })
  assert.equal(answer.status, 200, answer.text)
  assert.match(answer.text, /"subject_name":"Chat"/)
  return answer.text
}

test('callers with hook:edit see the URL of a receiver and its changes', async () => {
  const editor = await createSpecialist('organization:edit', 'organization:view', 'hook:edit')
  for (const by of [token, editor])
    for (const url of [ours, `${ours}/export`]) {
      const text = await read(url, by)
      for (const part of ['', '/2', '/create', '/update'])
        assert.ok(text.includes(`${target_url}${part}"`), part)
    }
})

test('others see its host, and nothing of what is sent to it', async () => {
  const { token: limited } = await create('/users/personal-access-tokens', { name: 'CI', scopes: ['read'] })
  const manager = await createSpecialist('organization:edit', 'organization:view')
  const cases: [by: string, url: string][] = [limited, manager].flatMap((by): [string, string][] => [
    [by, ours],
    [by, `${ours}/export`],
  ])
  for (const [by, url] of [...cases, [admin.token, '/audit'], [admin.token, '/audit/export']] as const) {
    const text = await read(url, by)
    assert.ok(!text.includes(SECRET), url)
    assert.ok(text.includes('"target_url":"https://chat.example.com/********"'), url)
    assert.ok(text.includes('"count":1'), url)
  }
})
