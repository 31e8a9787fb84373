// The guides at /docs/guides, as they are built from docs/: complete, without dead ends, and the ones that pages link to.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { glob, mkdtemp, readFile, rm } from 'node:fs/promises'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, suite, test } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { brotliDecompressSync } from 'node:zlib'
import Fastify from 'fastify'
import { guideRoutes } from '#ops/guides/routes.ts'
import { VERSION } from '#platform/version.ts'
import { openTestApp } from '#test/support/harness.ts'
import { GUIDES, guideFor } from '#web/base/ui/guides.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const built = spawnSync(process.execPath, [join(ROOT, 'scripts/build-guides.mjs')], { encoding: 'utf8' })
assert.equal(built.status, 0, built.stderr)

const { app } = await openTestApp({ after })
const get = (url: string, headers: Record<string, string> = {}) => app.inject({ url, headers })

/** As it is written: URLs of other clients are normalized before they are sent. */
async function getRaw(path: string) {
  if (!app.server.listening) await once(app.server.listen(0, '127.0.0.1'), 'listening')
  const { port } = app.server.address() as AddressInfo
  const request = http.get({ port, path, headers: { 'if-none-match': '*' } })
  const [response] = (await once(request, 'response')) as [http.IncomingMessage]
  return { statusCode: response.statusCode, headers: response.headers, body: await text(response) }
}

/** Every page that the index leads to, by its URL. */
const pages = new Map<string, string>()
const waiting = ['/docs/guides']
for (let url = waiting.pop(); url !== undefined; url = waiting.pop()) {
  const { statusCode, body } = await get(url)
  assert.equal(statusCode, 200, url)
  pages.set(url, body)
  for (const { path } of linksOf(body))
    if (path.startsWith('/docs/guides') && !pages.has(path) && !waiting.includes(path)) waiting.push(path)
}

function linksOf(page: string): { path: string; anchor: string }[] {
  return [...page.matchAll(/<a [^>]*?href="(\/[^"#]*)?(?:#([^"]*))?"/g)].map(
    ([, path = '', anchor = '']) => ({
      path,
      anchor: decodeURIComponent(anchor),
    }),
  )
}

const idsOf = (page: string) => [...page.matchAll(/\sid="([^"]*)"/g)].map(([, id]) => id!)

suite('the guides', () => {
  test('are all of docs/, except for what is about the code', async () => {
    const files = await Array.fromAsync(glob('{,guides/}*.md', { cwd: join(ROOT, 'docs') }))
    const expected = files
      .filter((file) => !['README.md', 'architecture.md'].includes(file))
      .map((file) => `/docs/guides/${file.replace(/^guides\/|\.md$/g, '')}`)
    assert.deepEqual([...pages.keys()].sort(), ['/docs/guides', ...expected].sort())
    assert.ok(expected.length > 20)
  })

  test('name their version, and contain no script but that of the search', () => {
    for (const [url, page] of pages) {
      assert.ok(page.includes(`<p class="version">Gantry ${VERSION}</p>`), url)
      assert.equal(page.match(/<script/g)?.length, 2, url)
      assert.doesNotMatch(page, /\sstyle=|\son\w+=/, url)
    }
  })

  test('have only links that lead somewhere, and no id twice', () => {
    for (const [url, page] of pages) {
      const ids = idsOf(page)
      assert.equal(new Set(ids).size, ids.length, url)
      for (const { path, anchor } of linksOf(page)) {
        const target = pages.get(path || url)
        if (path.startsWith('/docs/guides')) assert.ok(target, `${url}: ${path}`)
        else if (path !== '') assert.ok(['/docs', '/app'].includes(path), `${url}: ${path}`)
        if (anchor !== '') assert.ok(idsOf(target!).includes(anchor), `${url}: ${path}#${anchor}`)
      }
    }
  })

  test('have a search index whose results are pages and headings of theirs', async () => {
    const { headers, body } = await get('/docs/guides/search.json')
    assert.equal(headers['content-type'], 'application/json; charset=utf-8')
    const entries = JSON.parse(body) as { url: string }[]
    assert.ok(entries.length > 200)
    for (const { url } of entries) {
      const [path, anchor] = url.split('#')
      assert.ok(pages.has(path!), url)
      if (anchor !== undefined) assert.ok(idsOf(pages.get(path!)!).includes(anchor), url)
    }
  })

  test('are sent compressed, revalidated, and under the policy of the pages', async () => {
    const plain = await get('/docs/guides/runs')
    assert.equal(plain.headers['content-type'], 'text/html; charset=utf-8')
    assert.equal(plain.headers['cache-control'], 'no-cache')
    assert.equal(plain.headers['x-content-type-options'], 'nosniff')
    assert.match(
      String(plain.headers['content-security-policy']),
      /default-src 'none'; script-src 'self'; style-src 'self'/,
    )
    const compressed = await get('/docs/guides/runs', { 'accept-encoding': 'br' })
    assert.equal(brotliDecompressSync(compressed.rawPayload).toString(), plain.body)
    const again = await get('/docs/guides/runs', { 'if-none-match': String(plain.headers.etag) })
    assert.deepEqual([again.statusCode, again.body], [304, ''])
    const head = await app.inject({ method: 'HEAD', url: '/docs/guides/runs' })
    assert.deepEqual([head.statusCode, head.body], [200, ''])
    assert.equal(head.headers['content-length'], plain.headers['content-length'])
    const image = await get('/docs/guides/screenshots/actions-light-wide.png')
    assert.equal(image.headers['content-type'], 'image/png')
  })

  test('that do not exist are a page that says so, whatever the path', async () => {
    const names = [
      'gone',
      'runs/',
      'runs/gone',
      'architecture',
      '404',
      'index',
      'index.html',
      'runs.html',
      'runs.md',
    ]
    const hostile = [
      '../../package.json',
      '..%2f..%2fpackage.json',
      '%2e%2e/%2e%2e/etc/passwd',
      '..\\..\\package.json',
      'runs%00',
      'runs%00.html',
      '/etc/passwd',
      '.built',
      'runs.html.br',
      '__proto__',
      'constructor',
      'screenshots%2factions-light-wide.png%00',
      '<script>alert(1)</script>',
      'x'.repeat(2_000),
    ]
    for (const name of [...names, ...hostile]) {
      const { statusCode, headers, body } = await getRaw(`/docs/guides/${name}`)
      assert.equal(statusCode, 404, name)
      assert.equal(headers['content-type'], 'text/html; charset=utf-8', name)
      assert.match(body, /This guide does not exist/, name)
      assert.doesNotMatch(body, /alert\(1\)/)
    }
    const head = await app.inject({ method: 'HEAD', url: '/docs/guides/gone' })
    assert.deepEqual([head.statusCode, head.body], [404, ''])
  })

  test('are at one address: a slash at the end leads there', async () => {
    const { statusCode, headers } = await get('/docs/guides/')
    assert.deepEqual([statusCode, headers.location], [302, '/docs/guides'])
  })

  test('respond with 503 and what to do until they are built', async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'gantry-guides-'))
    t.after(() => rm(folder, { recursive: true }))
    const other = Fastify()
    t.after(() => other.close())
    await other.register(guideRoutes, { folder: pathToFileURL(`${folder}/`) })
    const early = await other.inject('/docs/guides/runs')
    assert.equal(early.statusCode, 503)
    assert.match(early.body, /npm start/)
    assert.equal(early.headers['cache-control'], 'no-store')
  })
})

suite('pages link to guides', () => {
  test('every page to one, at a heading that exists', async () => {
    const source = await readFile(join(ROOT, 'web/src/app.tsx'), 'utf8')
    const paths = [...source.slice(source.indexOf('<Shell>')).matchAll(/<Route path="([^"]+)"/g)].map(
      ([, path]) => path!,
    )
    const shown = paths.filter((path) => !['/', '/sign-in', '/hooks/:type/:id'].includes(path))
    assert.deepEqual(Object.keys(GUIDES).sort(), shown.sort())
    for (const path of shown) assertExists(guideFor(path.replace(':id', '12'))!)
    assert.equal(guideFor('/nowhere'), undefined)
    assert.equal(guideFor('/constructor'), undefined)
  })

  test('and so do other links of the dashboard, the reference and the command line', async () => {
    let found = 0
    for await (const file of glob(['web/src/**/*.{ts,tsx}', 'cli/src/**/*.ts', 'server/**/*.ts'], {
      cwd: ROOT,
    })) {
      for (const [url] of (await readFile(join(ROOT, file), 'utf8')).matchAll(
        /\/docs\/guides(\/[\w-]+(#[\w-]+)?)?(?=["'\s.])/g,
      )) {
        found++
        if (!file.startsWith('server/ops/guides/')) assertExists(url)
      }
    }
    assert.ok(found > 4)
  })

  function assertExists(url: string): void {
    const [path, anchor] = url.split('#')
    const page = pages.get(path!)
    assert.ok(page, url)
    if (anchor !== undefined) assert.ok(idsOf(page).includes(anchor), url)
  }
})
