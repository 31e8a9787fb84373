// What a browser loads before it shows the first page, and what it leaves for later.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'

const BUILD = fileURLToPath(new URL('../../scripts/build-web.mjs', import.meta.url))
const DIST = new URL('../../web/dist/', import.meta.url)
const MAX_BYTES = 180_000

describe('the first load', () => {
  const loaded = new Map<string, string>()
  before(async () => {
    spawnSync(process.execPath, [BUILD], { stdio: 'ignore' })
    const html = await readFile(new URL('index.html', DIST), 'utf8')
    for (const [, path] of html.matchAll(/(?:src|href)="\/app\/(assets\/[^"]+\.(?:js|css))"/g))
      await load(path!)
  })

  /** A module and what it imports statically. */
  async function load(path: string): Promise<void> {
    if (loaded.has(path)) return
    const source = await readFile(new URL(path, DIST), 'utf8')
    loaded.set(path, source)
    const imports = source.matchAll(/(?:from|import)\s*["']\.\/([^"']+\.js)["']/g)
    for (const [, file] of imports) await load(`assets/${file}`)
  }

  it('is at most 180 kB of compressed scripts and styles', () => {
    const sizes = [...loaded].map(([path, source]) => [path, gzipSync(source, { level: 9 }).length] as const)
    const total = sizes.reduce((sum, [, size]) => sum + size, 0)
    assert.ok(loaded.size > 0)
    assert.ok(total <= MAX_BYTES, `${total} bytes: ${sizes.map((one) => one.join(' ')).join(', ')}`)
  })

  it('contains neither the editor nor the charts nor the palette', () => {
    const all = [...loaded.values()].join('\n')
    for (const text of ['cm-editor', 'Median duration per day', 'Search, or type: run'])
      assert.equal(all.includes(text), false, text)
  })
})
