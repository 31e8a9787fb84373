// The documentation is true: the settings table and the links. test/cli/tours.test.ts types the tours.
import assert from 'node:assert/strict'
import { glob, readFile, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { test } from 'node:test'
import { configurationIn, renderConfiguration, withConfiguration } from '../../scripts/configuration-table.ts'

const root = join(import.meta.dirname, '../..')
const PAGES = ['*.md', 'docs/**/*.md', 'bench/*.md', 'client/*.md']
const readPage = (path: string) => readFile(join(root, path), 'utf8')

test('the table in docs/configuration.md is the one that the settings make', async () => {
  const page = await readPage('docs/configuration.md')
  assert.equal(configurationIn(page), renderConfiguration(), 'run: node scripts/configuration-table.ts')
  assert.equal(withConfiguration(page, renderConfiguration()), page)
})

test('the README fits on a few screens', async () => {
  const lines = (await readPage('README.md')).split('\n').length
  assert.ok(lines <= 160, `${lines} lines`)
})

test('every link between the documents leads somewhere', async () => {
  const broken: string[] = []
  for await (const page of glob(PAGES, { cwd: root })) {
    const source = await readFile(join(root, page), 'utf8')
    for (const [, link] of source.matchAll(/\]\((?!https?:)([^)#\s]+)(?:#[^)]*)?\)/g)) {
      const target = resolve(root, dirname(page), link!)
      await stat(target).catch(() => broken.push(`${page}: ${link}`))
    }
  }
  assert.deepEqual(broken, [])
})

test('every link to a heading leads to one', async () => {
  const broken: string[] = []
  for await (const page of glob(PAGES, { cwd: root })) {
    for (const [, link, anchor] of (await readPage(page)).matchAll(
      /\]\((?!https?:)([^)#\s]*)#([^)\s]+)\)/g,
    )) {
      const target = link ? join(dirname(page), link) : page
      if (target.endsWith('.md') && !anchorsOf(await readPage(target)).has(anchor!))
        broken.push(`${page}: ${link}#${anchor}`)
    }
  }
  assert.deepEqual(broken, [])
})

test('the index of decisions lists every record by its title', async () => {
  const index = await readPage('docs/decisions/README.md')
  const listed = [...index.matchAll(/^- \[(.+)\]\((.+?)\)/gm)].map(([, title, file]) => `${file}: # ${title}`)
  const records: string[] = []
  for await (const file of glob('0*.md', { cwd: join(root, 'docs/decisions') }))
    records.push(`${file}: ${(await readPage(`docs/decisions/${file}`)).split('\n', 1)[0]}`)
  assert.deepEqual(listed.sort(), records.sort())
})

/** As GitHub names them. */
function anchorsOf(page: string): Set<string> {
  const headings = page.replaceAll(/^```[\s\S]*?^```/gm, '').matchAll(/^#+ (.+)$/gm)
  const names = [...headings].map(([, text]) =>
    text!
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
      .replaceAll(' ', '-'),
  )
  return new Set(names)
}
