// The files of the dashboard: how they are served, and how they are built.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { copyFile, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { suite, type TestContext, test } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib'
import Fastify from 'fastify'
import { readBuiltPages, readPagesVersion } from '#views/dashboard/built-pages.ts'
import { pageRoutes } from '#views/dashboard/page-routes.ts'

/** A temporary folder, removed after the test. */
async function createFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'gantry-pages-'))
  t.after(() => rm(folder, { recursive: true }))
  return folder
}

suite('the pages', () => {
  const SCRIPT = 'console.log("pages")\n'.repeat(100)

  async function open(t: TestContext, files: Record<string, string | Buffer>) {
    const folder = await createFolder(t)
    await mkdir(join(folder, 'assets'))
    const write = async (some: typeof files) => {
      for (const [path, content] of Object.entries(some)) await writeFile(join(folder, path), content)
    }
    await write(files)
    const app = Fastify()
    t.after(() => app.close())
    await app.register(pageRoutes, { folder: pathToFileURL(`${folder}/`) })
    const get = (url: string, headers: Record<string, string> = {}) => app.inject({ url, headers })
    return { app, get, write }
  }

  const BUILT = {
    'index.html': '<!doctype html><title>Gantry</title>',
    'icon.svg': '<svg xmlns="http://www.w3.org/2000/svg"/>',
    '.built': 'stamp',
    'assets/index-DH2EUxFj.js': SCRIPT,
    'assets/index-DH2EUxFj.js.br': brotliCompressSync(SCRIPT),
    'assets/index-DH2EUxFj.js.gz': gzipSync(SCRIPT),
  }

  test('every view is the same page, which is revalidated each time', async (t) => {
    const { get } = await open(t, BUILT)
    for (const url of ['/app', '/app/', '/app/actions', '/app/actions/12?tab=log', '/app/a.b/c', '/app/*']) {
      const response = await get(url)
      assert.equal(response.statusCode, 200, url)
      assert.equal(response.body, BUILT['index.html'])
      assert.equal(response.headers['content-type'], 'text/html; charset=utf-8')
      assert.equal(response.headers['cache-control'], 'no-cache')
    }
  })

  test('no other origin can run code in it, or frame it', async (t) => {
    const { get } = await open(t, BUILT)
    assert.equal(
      (await get('/app')).headers['content-security-policy'],
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    )
  })

  test('files with a content hash in their name are cached forever, others are not', async (t) => {
    const { get } = await open(t, BUILT)
    const script = await get('/app/assets/index-DH2EUxFj.js')
    assert.equal(script.body, SCRIPT)
    assert.equal(script.headers['content-type'], 'text/javascript; charset=utf-8')
    assert.equal(script.headers['cache-control'], 'public, max-age=31536000, immutable')
    assert.equal((await get('/app/icon.svg')).headers['cache-control'], 'no-cache')
  })

  test('are sent in the smallest accepted encoding, each with its own ETag', async (t) => {
    const { get } = await open(t, BUILT)
    const getAs = (accept: string) => get('/app/assets/index-DH2EUxFj.js', { 'accept-encoding': accept })
    const [brotli, gzip, plain] = [await getAs('gzip, br'), await getAs('gzip'), await getAs('identity')]
    assert.equal(brotli.headers['content-encoding'], 'br')
    assert.equal(brotliDecompressSync(brotli.rawPayload).toString(), SCRIPT)
    assert.equal(gzip.headers['content-encoding'], 'gzip')
    assert.equal(gunzipSync(gzip.rawPayload).toString(), SCRIPT)
    assert.equal(plain.headers['content-encoding'], undefined)
    const tags = [brotli, gzip, plain].map(({ headers }) => String(headers.etag))
    assert.equal(new Set(tags).size, 3)
    for (const tag of tags) assert.match(tag, /^"[\w-]{27}"$/)
    assert.equal(plain.headers.vary, 'Accept-Encoding')
  })

  test('what the browser has cached is not sent again', async (t) => {
    const { get } = await open(t, BUILT)
    const { etag } = (await get('/app')).headers
    const again = await get('/app', { 'if-none-match': String(etag) })
    assert.equal(again.statusCode, 304)
    assert.equal(again.body, '')
    assert.equal((await get('/app', { 'if-none-match': '"other"' })).statusCode, 200)
  })

  test('no URL leads out of the folder, or to a file that is not a page', async (t) => {
    const { get } = await open(t, BUILT)
    const urls = [
      '/app/missing.js',
      '/app/.built',
      '/app/assets/index-DH2EUxFj.js.br',
      '/app/assets/../../package.json',
      '/app/..%2f..%2fpackage.json',
      '/app/%2e%2e/%2e%2e/etc/passwd.txt',
      '/app//etc/hosts.txt',
      '/app/constructor.js',
    ]
    for (const url of urls) assert.equal((await get(url)).statusCode, 404, url)
  })

  test('HEAD returns the headers of GET', async (t) => {
    const { app, get } = await open(t, BUILT)
    const head = await app.inject({ method: 'HEAD', url: '/app' })
    assert.equal(head.statusCode, 200)
    assert.equal(head.body, '')
    assert.equal(head.headers['content-length'], (await get('/app')).headers['content-length'])
  })

  test('respond with 503 and what to do until they are built', async (t) => {
    const { get, write } = await open(t, {})
    const early = await get('/app/actions')
    assert.equal(early.statusCode, 503)
    assert.match(early.body, /npm start/)
    assert.equal(early.headers['cache-control'], 'no-store')
    assert.ok(early.headers['retry-after'])
    await write(BUILT)
    assert.equal((await get('/app/actions')).statusCode, 200)
  })
})

suite('building the pages', () => {
  const root = new URL('../..', import.meta.url)

  /** A checkout with one page, which shares the installed packages. */
  async function createCheckout(t: TestContext): Promise<string> {
    const checkout = await createFolder(t)
    await mkdir(join(checkout, 'scripts'))
    await mkdir(join(checkout, 'web', 'src'), { recursive: true })
    await mkdir(join(checkout, 'client', 'src'), { recursive: true })
    for (const name of ['build-web.mjs', 'built.mjs'])
      await copyFile(new URL(`scripts/${name}`, root), join(checkout, 'scripts', name))
    await symlink(fileURLToPath(new URL('node_modules', root)), join(checkout, 'node_modules'))
    await writeFile(join(checkout, 'package-lock.json'), '{}')
    await writeFile(join(checkout, 'web/vite.config.mjs'), "export default { base: '/app/' }")
    await writeFile(join(checkout, 'package.json'), '{"version": "1.2.3"}')
    const page = '<!doctype html><title>Page</title><script type="module" src="/src/main.js"></script>'
    await writeFile(join(checkout, 'web/index.html'), page)
    await writeFile(join(checkout, 'web/src/main.js'), `document.title = '${'long '.repeat(500)}'`)
    return checkout
  }

  const build = (checkout: string) =>
    promisify(execFile)(process.execPath, ['scripts/build-web.mjs'], { cwd: checkout })

  test('happens when the sources have changed, and only then', async (t) => {
    const checkout = await createCheckout(t)
    assert.match((await build(checkout)).stdout, /building/)
    const first = await readBuiltPages(pathToFileURL(`${checkout}/web/dist/`))
    const script = [...first!.keys()].find((path) => path.endsWith('.js'))!
    assert.ok(first!.get(script)!.isHashed)
    assert.deepEqual(
      first!.get(script)!.encodings.map(({ encoding }) => encoding),
      ['br', 'gzip', null],
    )
    assert.equal((await build(checkout)).stdout, '')
    assert.equal(await readPagesVersion(pathToFileURL(`${checkout}/web/dist/`)), '1.2.3')

    await writeFile(join(checkout, 'web/src/main.js'), 'document.title = "other"')
    assert.match((await build(checkout)).stdout, /building/)
    const second = await readBuiltPages(pathToFileURL(`${checkout}/web/dist/`))
    assert.ok(!second!.has(script), 'the old file is gone')
    await writeFile(join(checkout, 'client/src/index.ts'), 'export {}')
    assert.match((await build(checkout)).stdout, /building/, "the client's sources are also the pages'")
    assert.deepEqual((await readdir(join(checkout, 'web'))).sort(), [
      'dist',
      'index.html',
      'src',
      'vite.config.mjs',
    ])
  })

  test('that fails is reported, leaves the old pages in place, and does not fail the start', async (t) => {
    const checkout = await createCheckout(t)
    await build(checkout)
    await writeFile(join(checkout, 'web/src/main.js'), 'import "./missing.js"')
    assert.match((await build(checkout)).stderr, /failed to build/)
    assert.ok(await readBuiltPages(pathToFileURL(`${checkout}/web/dist/`)))
  })

  test('does nothing where there are no pages', async (t) => {
    const checkout = await createCheckout(t)
    await rm(join(checkout, 'web'), { recursive: true })
    assert.deepEqual(await build(checkout), { stdout: '', stderr: '' })
  })
})
