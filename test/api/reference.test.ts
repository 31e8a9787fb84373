// The reference at /docs, made from the document of the running service: complete, small, and with samples that work.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { readDocument } from '#ops/reference/document.ts'
import { curlSample, typescriptSample } from '#ops/reference/samples.ts'
import { openTestApp, TEST_BASE_URL } from '#test/support/harness.ts'
import { createTestTree } from '#test/support/world.ts'

const run = promisify(execFile)
const ROOT = fileURLToPath(new URL('../../', import.meta.url))

const { app, db, request } = await openTestApp({ after })
const reference = readDocument(app.swagger())
const operations = reference.tags.flatMap((tag) => tag.operations)
const { status, headers, text: page } = await request('GET', '/docs', { headers: { accept: 'text/html' } })
const folder = await mkdtemp(join(tmpdir(), 'gantry-reference-'))
after(() => rm(folder, { recursive: true }))

test('the reference is a page that shows every operation, and who may call it', () => {
  assert.equal(status, 200)
  assert.equal(headers['content-type'], 'text/html; charset=utf-8')
  for (const path of Object.values(app.swagger().paths ?? {})) {
    for (const { operationId } of Object.values<{ operationId: string }>(path)) {
      const [, article] = page.split(`<article id="${operationId}"`)
      assert.match(article?.split('</article>')[0] ?? '', /<dt>Permission<\/dt>/, operationId)
    }
  }
})

test('every link of the page has its target, and no two targets have the same name', () => {
  const ids = [...page.matchAll(/\sid="([^"]*)"/g)].map(([, id]) => id)
  assert.equal(new Set(ids).size, ids.length)
  const missing = [...page.matchAll(/href="#([^"]*)"/g)].filter(([, target]) => !ids.includes(target))
  assert.deepEqual(missing, [])
})

test('the page, its style and its scripts are small, compressed, revalidated, and bound by a strict policy', async () => {
  assert.match(headers['content-security-policy']!, /default-src 'none'; script-src 'self'; style-src 'self'/)
  const names = [...page.matchAll(/(?:href|src)="(\/docs\/[^"]+\.\w+)"/g)].map(([, name]) => name!)
  assert.ok(names.includes('/docs/style.css') && names.includes('/docs/main.js'))
  let [plain, sent] = [0, 0]
  for (const url of ['/docs', ...new Set(names)]) {
    const answers = await Promise.all(
      ['', 'gzip', 'br, gzip'].map((encoding) =>
        app.inject({ method: 'GET', url, headers: { 'accept-encoding': encoding } }),
      ),
    )
    const [bare, gzip, brotli] = answers as [(typeof answers)[0], (typeof answers)[0], (typeof answers)[0]]
    assert.equal(bare.statusCode, 200, url)
    assert.equal(bare.headers['x-content-type-options'], 'nosniff')
    assert.deepEqual(gunzipSync(gzip.rawPayload), bare.rawPayload)
    assert.deepEqual(brotliDecompressSync(brotli.rawPayload), bare.rawPayload)
    const again = await app.inject({ url, headers: { 'if-none-match': String(bare.headers.etag) } })
    assert.equal(again.statusCode, 304)
    plain += bare.rawPayload.length
    sent += brotli.rawPayload.length
  }
  assert.ok(plain < 1_400_000, `${plain} bytes`)
  assert.ok(sent < 120_000, `${sent} bytes compressed`)
})

test('a slash at the end leads to the page', async () => {
  const { status, headers } = await request('GET', '/docs/')
  assert.deepEqual([status, headers.location], [302, '/docs'])
})

test('there is nothing else under /docs', async () => {
  for (const name of ['routes.ts', '..%2froutes.ts', '__proto__', 'style.css%00'])
    assert.equal((await request('GET', `/docs/${name}`)).status, 404, name)
})

test('every TypeScript sample compiles against the client', async () => {
  for (const operation of operations)
    await writeFile(join(folder, `${operation.id}.ts`), typescriptSample(operation, reference))
  const compilerOptions = {
    noEmit: true,
    strict: true,
    skipLibCheck: true,
    allowImportingTsExtensions: true,
    target: 'es2024',
    module: 'esnext',
    moduleResolution: 'bundler',
    lib: ['es2024', 'dom', 'dom.iterable', 'dom.asynciterable'],
    types: ['node'],
    typeRoots: [join(ROOT, 'node_modules/@types')],
    paths: { '@gantry/client': [join(ROOT, 'client/src/index.ts')] },
  }
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }))
  const { stdout } = await run(join(ROOT, 'node_modules/.bin/tsc'), ['-p', folder]).catch((error) => error)
  assert.equal(stdout, '')
})

suite('a curl sample runs as it is', async () => {
  const tree = await createTestTree(db)
  const environment = { PATH: process.env.PATH, CURL_HOME: folder, GANTRY_TOKEN: tree.owner.token }
  before(async () => {
    app.server.listen(0, '127.0.0.1')
    await once(app.server, 'listening')
    const { port } = app.server.address() as AddressInfo
    const settings = ['silent', 'show-error', 'fail-with-body', 'max-time = 20']
    // The address of the samples is the one that the service was told; here it is this process.
    const connect = `connect-to = ${new URL(TEST_BASE_URL).host}:80:127.0.0.1:${port}`
    await writeFile(join(folder, '.curlrc'), [...settings, connect].join('\n'))
  })

  async function runSample(method: string, path: string): Promise<string> {
    const operation = operations.find((one) => one.method === method && one.path === path)
    assert.ok(operation, path)
    const command = curlSample(operation, reference)
    const { stdout } = await run('sh', ['-c', command], { env: environment }).catch((error) => {
      throw new Error(`${command}\n${error.stdout}${error.stderr}`)
    })
    return stdout
  }

  test('to read the version, a user, an organization and lists', async () => {
    assert.equal(JSON.parse(await runSample('GET', '/')).name, 'Gantry')
    assert.equal(JSON.parse(await runSample('GET', '/users/me')).email, tree.owner.email)
    assert.equal(tree.organizationId, 1, 'the samples are about the first object of each kind')
    assert.equal(JSON.parse(await runSample('GET', '/organizations/{id}')).id, 1)
    assert.deepEqual(JSON.parse(await runSample('GET', '/actions')), [])
  })

  test('to create, to plan without a body, and to remove', async () => {
    assert.equal(typeof JSON.parse(await runSample('POST', '/projects/{id}/environments')).id, 'number')
    assert.match(JSON.parse(await runSample('POST', '/pipelines/{id}/hooks/incoming')).url, /^http/)
    assert.ok(JSON.parse(await runSample('POST', '/pipelines/{id}/plan')))
    assert.equal(JSON.parse(await runSample('POST', '/applications/{id}/variables')).id, 1)
    assert.equal(await runSample('DELETE', '/applications/{id}/variables/{variable_id}'), '')
  })
})
