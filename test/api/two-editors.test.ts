// Two people work on the same thing: whoever says which version they have seen neither writes over nor removes what
// the other has changed meanwhile. Every route with PUT is tried, as the OpenAPI document lists them.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { openTestApp } from '#test/support/harness.ts'
import { createMember, createTestTree, type TestTree } from '#test/support/world.ts'

const { app, db, request } = await openTestApp({ after })

type Editable = {
  /** Makes one with nothing in it; answers with its address. */
  make(at: TestTree): Promise<string>
  /** What the other person changes, what we wish to change, and what we wish instead. */
  theirs: object
  ours: object
  later: object
}

const names = { theirs: { name: 'Theirs' }, ours: { name: 'Ours' }, later: { name: 'Later' } }

/** By the path of the route. */
const EDITABLE: Record<string, Editable> = {
  '/organizations/{id}': {
    make: async ({ owner, organizationId, projectId, credentialId }) => {
      for (const content of [`/projects/${projectId}?cascade=true`, `/credentials/${credentialId}`])
        assert.equal((await request('DELETE', content, { token: owner.token })).status, 204)
      return `/organizations/${organizationId}`
    },
    ...names,
  },
  '/projects/{id}': {
    make: (at) => created(at, `/organizations/${at.organizationId}/projects`, '/projects', { name: 'Shop' }),
    ...names,
  },
  '/environments/{id}': {
    make: (at) =>
      created(at, `/projects/${at.projectId}/environments`, '/environments', {
        name: 'Live',
        type: 'production',
      }),
    ...names,
  },
  '/servers/{id}': {
    make: (at) =>
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
    make: (at) =>
      created(at, `/environments/${at.environmentId}/applications`, '/applications', {
        name: 'Blog',
        repository: 'https://github.com/acme/blog.git',
      }),
    ...names,
  },
  '/pipelines/{id}': {
    make: (at) =>
      created(at, `/pipelines/application/${at.applicationId}`, '/pipelines', {
        name: 'Deploy',
        operation: 'deploy',
      }),
    ...names,
  },
  '/credentials/{id}': {
    make: (at) =>
      created(at, `/organizations/${at.organizationId}/credentials`, '/credentials', {
        name: 'Token',
        provider_code: 'github',
        token: 'ghp_example',
      }),
    ...names,
  },
  '/roles/{id}': {
    make: (at) =>
      created(at, `/organizations/${at.organizationId}/roles`, '/roles', { name: 'Role', permissions: [] }),
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
    make: (at) => {
      const variables = `/applications/${at.applicationId}/variables`
      return created(at, variables, variables, { name: 'REGION', value: 'eu' })
    },
    theirs: { value: 'us' },
    ours: { value: 'asia' },
    later: { value: 'mars' },
  },
  '/pipelines/{id}/steps/{step_id}': {
    make: (at) => {
      const steps = `/pipelines/${at.pipelineId}/steps`
      return created(at, steps, steps, { name: 'warm-up', command: 'true' })
    },
    theirs: { command: 'echo theirs' },
    ours: { command: 'echo ours' },
    later: { command: 'echo later' },
  },
  '/hooks/incoming/{hook_id}': {
    make: (at) =>
      created(at, `/pipelines/${at.pipelineId}/hooks/incoming`, '/hooks/incoming', { name: 'Push' }),
    ...names,
  },
  '/hooks/outgoing/{hook_id}': {
    make: (at) =>
      created(at, `/pipelines/${at.pipelineId}/hooks/outgoing`, '/hooks/outgoing', {
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
      const { read, put, putByOther } = await begin(make)
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

    test('is written by one of two who have seen the same', async () => {
      const { read, put } = await begin(make)
      const { headers } = await read()
      const both = await Promise.all([theirs, later].map((body) => put(body, headers.etag)))
      assert.deepEqual(both.map(({ status }) => status).sort(), [200, 412])
    })

    test('is not removed by somebody who has not seen its last change', async () => {
      const { read, remove, putByOther } = await begin(make)
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

    test('is removed by somebody who does not say what they have seen', async () => {
      for (const version of [undefined, '*']) {
        const { read, remove } = await begin(make)
        assert.equal((await remove(version)).status, 204, `If-Match: ${version}`)
        assert.equal((await read()).status, 404)
      }
    })

    test('is changed or removed, not both, by two who have seen the same', async () => {
      const { read, put, remove } = await begin(make)
      const { headers } = await read()
      const [changed, removed] = await Promise.all([put(ours, headers.etag), remove(headers.etag)])
      const found = `${changed.status} ${removed.status}`
      assert.ok(['200 412', '404 204'].includes(found), found)
    })
  })
}

/** A thing of its own for a test, in a tree of its own, and what two owners of that tree do with it. */
async function begin(make: Editable['make']) {
  const at = await createTestTree(db)
  const other = await createMember(db, at, 'owner')
  const url = await make(at)
  const { token } = at.owner
  const saying = (version?: string) => (version === undefined ? undefined : { 'if-match': version })
  return {
    read: () => request('GET', url, { token }),
    put: (body: object, version?: string) => request('PUT', url, { token, body, headers: saying(version) }),
    putByOther: (body: object) => request('PUT', url, { token: other.token, body }),
    remove: (version?: string) => request('DELETE', url, { token, headers: saying(version) }),
  }
}

async function created({ owner: { token } }: TestTree, url: string, shownAt: string, wish: object) {
  const { status, body, text } = await request('POST', url, { token, body: wish })
  assert.equal(status, 201, text)
  return `${shownAt}/${body.id}`
}
