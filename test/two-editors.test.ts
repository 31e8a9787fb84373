// Two people edit the same thing: whoever says which version they have seen does not write over what the other has
// changed meanwhile. Every route with PUT is tried, as the OpenAPI document lists them.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { openTestApp } from './harness.ts'
import { createMember, createTestTree, type TestTree } from './world.ts'

const { app, db, request } = await openTestApp({ after })
const tree = await createTestTree(db)
const other = await createMember(db, tree, 'owner')
const { token } = tree.owner

type Editable = {
  /** Makes one for this test alone; answers with its address. */
  make(at: TestTree): string | Promise<string>
  /** What the other person changes, what we wish to change, and what we wish instead. */
  theirs: object
  ours: object
  later: object
}

const names = { theirs: { name: 'Theirs' }, ours: { name: 'Ours' }, later: { name: 'Later' } }

/** By the path of the route. */
const EDITABLE: Record<string, Editable> = {
  '/organizations/{id}': { make: ({ organizationId }) => `/organizations/${organizationId}`, ...names },
  '/projects/{id}': { make: ({ projectId }) => `/projects/${projectId}`, ...names },
  '/environments/{id}': { make: ({ environmentId }) => `/environments/${environmentId}`, ...names },
  '/servers/{id}': { make: ({ serverIds }) => `/servers/${serverIds[0]}`, ...names },
  '/applications/{id}': { make: ({ applicationId }) => `/applications/${applicationId}`, ...names },
  '/pipelines/{id}': { make: ({ pipelineId }) => `/pipelines/${pipelineId}`, ...names },
  '/credentials/{id}': {
    make: ({ organizationId }) =>
      created(`/organizations/${organizationId}/credentials`, '/credentials', {
        name: 'Token',
        provider_code: 'github',
        token: 'ghp_example',
      }),
    ...names,
  },
  '/roles/{id}': {
    make: ({ organizationId }) =>
      created(`/organizations/${organizationId}/roles`, '/roles', { name: 'Role', permissions: [] }),
    ...names,
  },
  '/organizations/{id}/members/{user_id}': {
    make: async (at) =>
      `/organizations/${at.organizationId}/members/${(await createMember(db, at, 'viewer')).id}`,
    theirs: { grants: [{ role: 'developer' }] },
    ours: { grants: [{ role: 'admin' }] },
    later: { grants: [{ role: 'viewer' }, { role: 'admin' }] },
  },
  '/applications/{id}/variables/{variable_id}': {
    make: ({ applicationId }) => {
      const variables = `/applications/${applicationId}/variables`
      return created(variables, variables, { name: 'REGION', value: 'eu' })
    },
    theirs: { value: 'us' },
    ours: { value: 'asia' },
    later: { value: 'mars' },
  },
  '/pipelines/{id}/steps/{step_id}': {
    make: ({ pipelineId }) => {
      const steps = `/pipelines/${pipelineId}/steps`
      return created(steps, steps, { name: 'warm-up', command: 'true' })
    },
    theirs: { command: 'echo theirs' },
    ours: { command: 'echo ours' },
    later: { command: 'echo later' },
  },
  '/hooks/incoming/{hook_id}': {
    make: ({ pipelineId }) =>
      created(`/pipelines/${pipelineId}/hooks/incoming`, '/hooks/incoming', { name: 'Push' }),
    ...names,
  },
  '/hooks/outgoing/{hook_id}': {
    make: ({ pipelineId }) =>
      created(`/pipelines/${pipelineId}/hooks/outgoing`, '/hooks/outgoing', {
        name: 'Tell',
        target_url: 'https://example.com/',
      }),
    ...names,
  },
}

/** Says that something is so, and has no record to read: the second of two people finds it done. */
const NO_RECORD = [
  '/resource-links/application/{id}/server/{child_id}',
  '/resource-links/server/{id}/application/{child_id}',
]

test('every route with PUT is tried here', () => {
  const { paths } = app.swagger() as unknown as { paths: Record<string, object> }
  const known = [...Object.keys(EDITABLE), ...NO_RECORD]
  assert.deepEqual(
    Object.keys(paths)
      .filter((path) => 'put' in paths[path]!)
      .sort(),
    known.sort(),
  )
})

for (const [path, { make, theirs, ours, later }] of Object.entries(EDITABLE)) {
  suite(path, () => {
    test('is not written over by somebody who has not seen its last change', async () => {
      const url = await make(tree)
      const seen = await request('GET', url, { token })
      assert.match(seen.headers.etag!, /^"[^"]+"$/)
      const changed = await request('PUT', url, { token: other.token, body: theirs })
      assert.equal(changed.status, 200, changed.text)
      assert.notEqual(changed.headers.etag, seen.headers.etag)

      const late = await put(url, ours, seen.headers.etag)
      assert.deepEqual([late.status, late.body.code], [412, 'precondition_failed'])
      const now = await request('GET', url, { token })
      assert.deepEqual(now.body, changed.body)
      assert.equal(now.headers.etag, changed.headers.etag)

      const again = await put(url, ours, now.headers.etag)
      assert.equal(again.status, 200, again.text)
      assert.notDeepEqual(again.body, now.body)
      assert.equal((await put(url, later)).status, 200)
      assert.equal((await put(url, ours, '*')).status, 200)
    })

    test('is written by one of two who have seen the same', async () => {
      const url = await make(tree)
      const { headers } = await request('GET', url, { token })
      const both = await Promise.all([theirs, later].map((body) => put(url, body, headers.etag)))
      assert.deepEqual(both.map(({ status }) => status).sort(), [200, 412])
    })
  })
}

function put(url: string, body: object, version?: string) {
  return request('PUT', url, { token, body, headers: version === undefined ? {} : { 'if-match': version } })
}

let counter = 0
async function created(url: string, shownAt: string, wish: { name: string; [field: string]: unknown }) {
  const name = `${wish.name}${++counter}`
  const { status, body, text } = await request('POST', url, { token, body: { ...wish, name } })
  assert.equal(status, 201, text)
  return `${shownAt}/${body.id}`
}
