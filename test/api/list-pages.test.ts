// Pages of every list that has them.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { openTestApp } from '#test/support/harness.ts'
import { createAction, createHook, createPerson, createTestTree, grantRole } from '#test/support/world.ts'

const { app, db, request } = await openTestApp({ after })
const tree = await createTestTree(db)
const { id, token } = await createPerson(db, { admin: true })
await grantRole(db, id, 'owner', { organizationId: tree.organizationId })
const incoming = await createHook(db, tree, 'incoming')
const outgoing = await createHook(db, tree, 'outgoing')
const action = await createAction(db, tree)

/** An object for each path that has an id in it. */
const IDS: Record<string, string | number> = {
  '/actions/{id}': action,
  '/applications/{id}': tree.applicationId,
  '/environments/{id}': tree.environmentId,
  '/hooks/incoming/{hook_id}': incoming,
  '/hooks/outgoing/{hook_id}': outgoing,
  '/organizations/{id}': tree.organizationId,
  '/pipelines/{id}': tree.pipelineId,
  '/pipelines/application/{resource_id}': tree.applicationId,
  '/pipelines/server/{resource_id}': tree.serverIds[0]!,
  '/projects/{id}': tree.projectId,
}

test('a page past the end of any list is empty, however large its number is', async () => {
  const { paths } = app.swagger() as {
    paths: Record<string, { get?: { parameters?: { name: string }[] } }>
  }
  const lists = Object.entries(paths).flatMap(([path, { get }]) => {
    const names = get?.parameters?.map(({ name }) => name) ?? []
    // A few lists have pages of one size.
    return names.includes('page') ? { path, size: names.includes('per_page') ? '&per_page=100' : '' } : []
  })
  assert.ok(lists.length > 20)
  for (const { path, size } of lists) {
    const [prefix] = /^[^}]*\}/.exec(path) ?? []
    assert.ok(!prefix || IDS[prefix] !== undefined, path)
    const url = path.replace(/\{\w+\}/, () => String(IDS[prefix!]))
    for (const page of [10n ** 9n + 1n, 2n ** 63n, 10n ** 30n, 10n ** 400n]) {
      const { status, body, text } = await request('GET', `${url}?page=${page}${size}`, { token })
      assert.deepEqual([status, body], [200, []], `${url} ${String(page).length} digits: ${text}`)
    }
  }
})
