// What a name resolves to in the network of Gantry is for instance administrators to know.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { createAddressGuard } from '#platform/addresses/guard.ts'
import { createSshGuard } from '#platform/addresses/ssh-guard.ts'
import { openTestApp, TEST_BASE_URL } from '#test/support/harness.ts'
import { createPerson, createTestTree, grantRole } from '#test/support/world.ts'

const ADDRESSES: Record<string, string> = {
  'intranet.example': '10.1.2.3',
  'metadata.example': '169.254.169.254',
}
const lookup = async (name: string) => [ADDRESSES[name] ?? '8.8.4.4']
const { db, request } = await openTestApp(
  { after },
  {
    guard: createAddressGuard({ allowTargets: [], baseUrl: () => TEST_BASE_URL, lookup }),
    sshGuard: createSshGuard({ targets: [], lookup }),
  },
)
const tree = await createTestTree(db)
const admin = await createPerson(db, { admin: true })
await grantRole(db, admin.id, 'owner', { organizationId: tree.organizationId })

const NAME = 'https://intranet.example/hook'
const organization = await db
  .selectFrom('organizations')
  .select(['name', 'url_slug'])
  .where('id', '=', tree.organizationId)
  .executeTakeFirstOrThrow()
const server = { name: 'web', provider_code: 'ssh', login_name: 'deploy', root_directory: '/srv' }
const document = `organization: ${organization.url_slug}
project: {name: Other}
environments:
  live:
    type: production
    servers:
      web: {provider_code: ssh, host: metadata.example, login_name: deploy, root_directory: /srv}
    applications:
      shop:
        repository: https://git.example.com/shop.git
        pipelines: {Deploy: {operation: deploy, hooks: {outgoing: {Chat: {target_url: "${NAME}"}}}}}
`

const saves: [what: string, url: string, body: object, address: string][] = [
  [
    'a hook',
    `/pipelines/${tree.pipelineId}/hooks/outgoing`,
    { name: 'Chat', target_url: NAME },
    ADDRESSES['intranet.example']!,
  ],
  [
    'a server',
    `/environments/${tree.environmentId}/servers`,
    { ...server, host: 'metadata.example' },
    ADDRESSES['metadata.example']!,
  ],
  ['a document', '/apply', { document }, ADDRESSES['metadata.example']!],
]

for (const [what, url, body, address] of saves)
  test(`an error that prevents saving ${what} names what a name resolves to only to instance administrators`, async () => {
    const [by, byAdmin] = await Promise.all(
      [tree.owner, admin].map(({ token }) => request('POST', url, { token, body })),
    )
    for (const answer of [by!, byAdmin!]) {
      assert.equal(answer.status, 422, answer.text)
      assert.match(answer.text, /may not be reached/)
    }
    assert.ok(byAdmin!.text.includes(`.example (${address}) may not`), byAdmin!.text)
    for (const internal of Object.values(ADDRESSES)) assert.ok(!by!.text.includes(internal), by!.text)
    assert.match(by!.text, /(intranet|metadata)\.example may not be reached/)
  })

test('an address that the caller wrote is named to everybody', async () => {
  const { token } = tree.owner
  const body = { name: 'Chat', target_url: 'https://10.9.8.7/hook' }
  const answer = await request('POST', `/pipelines/${tree.pipelineId}/hooks/outgoing`, { token, body })
  assert.match(answer.body.errors.target_url[0], /^10\.9\.8\.7 may not be reached: /)
})

test('neither does a look at a repository, or a preview of an unsaved hook', async () => {
  const { body: hook } = await request('POST', `/pipelines/${tree.pipelineId}/hooks/outgoing`, {
    token: tree.owner.token,
    body: { name: 'Public', target_url: 'https://example.com/' },
  })
  const requests: [string, object][] = [
    [
      '/repositories/inspect',
      { environment_id: tree.environmentId, repository: 'https://intranet.example/a.git' },
    ],
    [`/hooks/outgoing/${hook.id}/preview`, { target_url: NAME }],
  ]
  for (const [url, body] of requests) {
    const [by, byAdmin] = await Promise.all(
      [tree.owner, admin].map(({ token }) => request('POST', url, { token, body })),
    )
    assert.match(by!.text, /intranet\.example may not be reached/)
    assert.ok(!by!.text.includes(ADDRESSES['intranet.example']!), by!.text)
    assert.ok(byAdmin!.text.includes(ADDRESSES['intranet.example']!), byAdmin!.text)
  }
})
