// Which responses are compressed, and that they stay the same.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib'
import { openTestApp } from '#test/support/harness.ts'
import { createAction, createTestTree } from '#test/support/world.ts'

const { app, db, request } = await openTestApp({ after })
const tree = await createTestTree(db)
const { token } = tree.owner
const actionId = await createAction(db, tree)
for (let n = 0; n < 9; n++) await createAction(db, tree)

/** Everything else must not be: a compressed response reveals by its length what it repeats. */
const COMPRESSED = [
  '/openapi.json',
  '/actions',
  '/actions/:action_id',
  '/overview',
  '/overview/applications',
  '/gantry.schema.json',
  '/organizations',
  '/organizations/:id/projects',
  '/projects/:id/environments',
  '/environments/:id/servers',
  '/environments/:id/applications',
  '/environments/:id/pipelines',
  '/pipelines/application/:resource_id',
  '/pipelines/server/:resource_id',
  '/organizations/:id/members',
  '/organizations/:id/roles',
]

/** Files that are compressed once, when they are built. */
const isFile = (url: string) => /^\/(app|docs|cli|favicon\.ico)(\/|$)/.test(url)

const DECODERS = {
  zstd: zstdDecompressSync,
  br: brotliDecompressSync,
  gzip: gunzipSync,
  identity: (bytes: Buffer) => bytes,
}

async function get(url: string, encoding?: string, method: 'GET' | 'HEAD' = 'GET') {
  const headers = { authorization: `Bearer ${token}`, ...(encoding && { 'accept-encoding': encoding }) }
  const { statusCode, headers: got, rawPayload } = await app.inject({ method, url, headers })
  assert.equal(statusCode, 200, url)
  const used = (got['content-encoding'] as string | undefined) ?? 'identity'
  return { headers: got, encoding: used, bytes: rawPayload }
}

suite('the routes that compress', () => {
  test('are exactly those without secrets: all others ignore Accept-Encoding', async () => {
    const urls = app.accessTable
      .filter(({ method, url }) => method === 'GET' && !isFile(url))
      .map(({ url }) => url)
    assert.ok(urls.length > 50)
    const varying: string[] = []
    for (const url of urls) {
      const path = url
        .replaceAll(/:(\w*hook\w*|token)/g, '00000000-0000-0000-0000-000000000000')
        .replaceAll(/:\w+/g, '1')
      for (const accept of ['application/json', 'text/event-stream']) {
        // The answer to an error tells, too, whether the route compresses.
        const { headers } = await app.inject({ url: path, headers: { accept, 'accept-encoding': 'br' } })
        if (String(headers.vary).includes('Accept-Encoding')) varying.push(url)
        else assert.equal(headers['content-encoding'], undefined, url)
      }
    }
    assert.deepEqual([...new Set(varying)].sort(), COMPRESSED.toSorted())
  })
})

suite('a compressed response', () => {
  const urls = ['/actions', `/actions/${actionId}`, '/openapi.json', '/gantry.schema.json', '/organizations']

  test('has the same content, in the best encoding that the caller accepts', async () => {
    for (const url of urls) {
      const plain = await get(url)
      assert.equal(plain.encoding, 'identity', url)
      const cases = [
        // The OpenAPI document is compressed once, as well as possible.
        ['gzip, deflate, br, zstd', url === '/openapi.json' ? 'br' : 'zstd'],
        ['gzip, deflate, br', 'br'],
        ['gzip', 'gzip'],
        ['br;q=0, gzip;q=0.5', 'gzip'],
        ['identity', 'identity'],
        ['br;q=0', 'identity'],
        ['zstd;q=0, br;q=0', 'identity'],
      ] as const
      for (const [accept, expected] of cases) {
        const { encoding, bytes, headers } = await get(url, accept)
        assert.equal(encoding, expected, `${url} ${accept}`)
        assert.ok(DECODERS[expected](bytes).equals(plain.bytes), url)
        assert.equal(headers['content-length'], String(bytes.length))
        assert.match(String(headers.vary), /Accept-Encoding/)
        if (expected !== 'identity') assert.ok(bytes.length < plain.bytes.length / 2, `${url} is smaller`)
      }
    }
  })

  test('keeps its headers, and its ETag, which is weak', async () => {
    const list = await get('/actions?per_page=5', 'br')
    assert.equal(list.headers['x-total-count'], '10')
    assert.match(String(list.headers.link), /rel="next"/)
    assert.equal(list.headers['content-type'], 'application/json; charset=utf-8')
    const [plain, compressed] = [await get(`/actions/${actionId}`), await get(`/actions/${actionId}`, 'br')]
    assert.match(String(plain.headers.etag), /^W\//)
    assert.equal(compressed.headers.etag, plain.headers.etag)
  })

  test('has the same headers for HEAD', async () => {
    const [got, head] = [await get('/actions', 'br'), await get('/actions', 'br', 'HEAD')]
    assert.equal(head.bytes.length, 0)
    for (const name of ['content-encoding', 'content-length', 'vary'])
      assert.equal(head.headers[name], got.headers[name], name)
  })

  test('is not made of a small one, nor of an error', async () => {
    const { encoding, headers, bytes } = await get('/actions?filter[status]=failed', 'br')
    assert.deepEqual([encoding, bytes.toString(), headers.vary], ['identity', '[]', 'Accept-Encoding'])
    const refused = await request('GET', '/actions', { headers: { 'accept-encoding': 'br' } })
    assert.equal(refused.status, 401)
    assert.equal(refused.headers['content-encoding'], undefined)
  })
})

test('the OpenAPI document is not sent again to callers that have it', async () => {
  const headers = { 'accept-encoding': 'br' }
  const { headers: got } = await app.inject({ url: '/openapi.json', headers })
  const again = { ...headers, 'if-none-match': String(got.etag) }
  const { statusCode, rawPayload } = await app.inject({ url: '/openapi.json', headers: again })
  assert.deepEqual([statusCode, rawPayload.length], [304, 0])
})
