// The documentation is true: the settings table and the links. test/cli/tours.test.ts types the tours.
import assert from 'node:assert/strict'
import { glob, readFile, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { test } from 'node:test'
import { configurationIn, renderConfiguration, withConfiguration } from '../../scripts/configuration-table.ts'

const root = join(import.meta.dirname, '../..')
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
  for await (const page of glob(['*.md', 'docs/**/*.md'], { cwd: root })) {
    const source = await readFile(join(root, page), 'utf8')
    for (const [, link] of source.matchAll(/\]\((?!https?:)([^)#\s]+)(?:#[^)]*)?\)/g)) {
      const target = resolve(root, dirname(page), link!)
      await stat(target).catch(() => broken.push(`${page}: ${link}`))
    }
  }
  assert.deepEqual(broken, [])
})
