// Two people edit the same resource: a caller who sends `If-Match` neither overwrites nor removes what the other has
// changed in the meantime. Covers every route with PUT in the OpenAPI document.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { openTestApp } from '#test/support/harness.ts'
import { createMember, createTestTree, type TestTree } from '#test/support/world.ts'

const { app, db, request } = await openTestApp({ after })

type Editable = {
  /** Creates an empty one; returns its URL. */
  create(at: TestTree): Promise<string>
  /** What the other person changes, what we change, and what we change later. */
  theirs: object
  ours: object
  later: object
}

const names = { theirs: { name: 'Theirs' }, ours: { name: 'Ours' }, later: { name: 'Later' } }

/** By the path of the route. */
const EDITABLE: Record<string, Editable> = {
  '/organizations/{id}': {
    create: async ({ owner, organizationId, projectId, credentialId }) => {
      for (const content of [`/projects/${projectId}?cascade=true`, `/credentials/${credentialId}`])
        assert.equal((await request('DELETE', content, { token: owner.token })).status, 204)
      return `/organizations/${organizationId}`
    },
    ...names,
  },
  '/projects/{id}': {
    create: (at) =>
      created(at, `/organizations/${at.organizationId}/projects`, '/projects', { name: 'Shop' }),
    ...names,
  },
  '/environments/{id}': {
    create: (at) =>
      created(at, `/projects/${at.projectId}/environments`, '/environments', {
        name: 'Live',
        type: 'production',
      }),
    ...names,
  },
  '/freezes/{id}': {
    create: (at) =>
      created(at, `/environments/${at.environmentId}/freezes`, '/freezes', {
        name: 'Holidays',
        reason: 'Nobody is there.',
        starts_at: '2030-12-20T00:00:00Z',
      }),
    ...names,
  },
  '/servers/{id}': {
    create: (at) =>
      created(at, `/environments/${at.environmentId}/servers`, '/servers', {
        name: 'web',
        provider_code: 'ssh',
        host: 'web.example.com',
        login_name: 'deploy',
        root_directory: '/srv',
      }),
    ...names,
  },
  '/applications/{id}': {
    create: (at) =>
      created(at, `/environments/${at.environmentId}/applications`, '/applications', {
        name: 'Blog',
        repository: 'https://github.com/acme/blog.git',
      }),
    ...names,
  },
  '/pipelines/{id}': {
    create: (at) =>
      created(at, `/pipelines/application/${at.applicationId}`, '/pipelines', {
        name: 'Deploy',
        operation: 'deploy',
      }),
    ...names,
  },
  '/credentials/{id}': {
    create: (at) =>
      created(at, `/organizations/${at.organizationId}/credentials`, '/credentials', {
        name: 'Token',
        provider_code: 'github',
        token: 'ghp_example',
      }),
    ...names,
  },
  '/roles/{id}': {
    create: (at) =>
      created(at, `/organizations/${at.organizationId}/roles`, '/roles', { name: 'Role', permissions: [] }),
    ...names,
  },
  '/organizations/{id}/members/{user_id}': {
    create: async (at) =>
      `/organizations/${at.organizationId}/members/${(await createMember(db, at, 'viewer')).id}`,
    theirs: { grants: [{ role: 'developer' }] },
    ours: { grants: [{ role: 'admin' }] },
    later: { grants: [{ role: 'viewer' }, { role: 'admin' }] },
  },
  '/applications/{id}/variables/{variable_id}': {
    create: (at) => {
      const variables = `/applications/${at.applicationId}/variables`
      return created(at, variables, variables, { name: 'REGION', value: 'eu' })
    },
    theirs: { value: 'us' },
    ours: { value: 'asia' },
    later: { value: 'mars' },
  },
  '/pipelines/{id}/steps/{step_id}': {
    create: (at) => {
      const steps = `/pipelines/${at.pipelineId}/steps`
      return created(at, steps, steps, { name: 'warm-up', command: 'true' })
    },
    theirs: { command: 'echo theirs' },
    ours: { command: 'echo ours' },
    later: { command: 'echo later' },
  },
  '/hooks/incoming/{hook_id}': {
    create: (at) =>
      created(at, `/pipelines/${at.pipelineId}/hooks/incoming`, '/hooks/incoming', { name: 'Push' }),
    ...names,
  },
  '/hooks/outgoing/{hook_id}': {
    create: (at) =>
      created(at, `/pipelines/${at.pipelineId}/hooks/outgoing`, '/hooks/outgoing', {
        name: 'Notify',
        target_url: 'https://example.com/',
      }),
    ...names,
  },
}

/** Idempotent, without a record to read: for the second of two people it is already done. */
const NO_RECORD = [
  '/users/{id}',
  '/resource-links/application/{id}/server/{child_id}',
  '/resource-links/server/{id}/application/{child_id}',
]

test('every route with PUT is covered', () => {
  const { paths } = app.swagger() as unknown as { paths: Record<string, object> }
  // Nobody else edits an account: own-account.test.ts covers two windows of one person.
  const known = [...Object.keys(EDITABLE), ...NO_RECORD, '/users/me']
  assert.deepEqual(
    Object.keys(paths)
      .filter((path) => 'put' in paths[path]!)
      .sort(),
    known.sort(),
  )
})

for (const [path, { create, theirs, ours, later }] of Object.entries(EDITABLE)) {
  suite(path, () => {
    test('is not overwritten by a caller with an outdated version', async () => {
      const { read, put, putByOther } = await begin(create)
      const seen = await read()
      assert.match(seen.headers.etag!, /^"[^"]+"$/)
      const changed = await putByOther(theirs)
      assert.equal(changed.status, 200, changed.text)
      assert.notEqual(changed.headers.etag, seen.headers.etag)

      const late = await put(ours, seen.headers.etag)
      assert.deepEqual([late.status, late.body.code], [412, 'precondition_failed'])
      const now = await read()
      assert.deepEqual(now.body, changed.body)
      assert.equal(now.headers.etag, changed.headers.etag)

      const again = await put(ours, now.headers.etag)
      assert.equal(again.status, 200, again.text)
      assert.notDeepEqual(again.body, now.body)
      assert.equal((await put(later)).status, 200)
      assert.equal((await put(ours, '*')).status, 200)
    })

    test('is changed by one of two callers with the same version', async () => {
      const { read, put } = await begin(create)
      const { headers } = await read()
      const both = await Promise.all([theirs, later].map((body) => put(body, headers.etag)))
      assert.deepEqual(both.map(({ status }) => status).sort(), [200, 412])
    })

    test('is not removed by a caller with an outdated version', async () => {
      const { read, remove, putByOther } = await begin(create)
      const seen = await read()
      const changed = await putByOther(theirs)
      assert.equal(changed.status, 200, changed.text)

      const late = await remove(seen.headers.etag)
      assert.deepEqual([late.status, late.body?.code], [412, 'precondition_failed'])
      const now = await read()
      assert.deepEqual([now.status, now.body], [200, changed.body])

      assert.equal((await remove(now.headers.etag)).status, 204)
      assert.equal((await read()).status, 404)
    })

    test('is removed by a caller who sends no version', async () => {
      for (const version of [undefined, '*']) {
        const { read, remove } = await begin(create)
        assert.equal((await remove(version)).status, 204, `If-Match: ${version}`)
        assert.equal((await read()).status, 404)
      }
    })

    test('is changed or removed, not both, by two callers with the same version', async () => {
      const { read, put, remove } = await begin(create)
      const { headers } = await read()
      const [changed, removed] = await Promise.all([put(ours, headers.etag), remove(headers.etag)])
      const found = `${changed.status} ${removed.status}`
      assert.ok(['200 412', '404 204'].includes(found), found)
    })
  })
}

/** A new resource in a new tree, and what two owners of that tree can do with it. */
async function begin(create: Editable['create']) {
  const at = await createTestTree(db)
  const other = await createMember(db, at, 'owner')
  const url = await create(at)
  const { token } = at.owner
  const ifMatch = (version?: string) => (version === undefined ? undefined : { 'if-match': version })
  return {
    read: () => request('GET', url, { token }),
    put: (body: object, version?: string) => request('PUT', url, { token, body, headers: ifMatch(version) }),
    putByOther: (body: object) => request('PUT', url, { token: other.token, body }),
    remove: (version?: string) => request('DELETE', url, { token, headers: ifMatch(version) }),
  }
}

async function created({ owner: { token } }: TestTree, url: string, itemPath: string, input: object) {
  const { status, body, text } = await request('POST', url, { token, body: input })
  assert.equal(status, 201, text)
  return `${itemPath}/${body.id}`
}
