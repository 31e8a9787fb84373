import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compilePathRules } from '#model/payload/path-rules.ts'
import { findCounting, shownPath } from './check-paths.ts'

const rules = compilePathRules(['api/**', '!**/*.md'])
const file = (path: string, old_path: string | null = null) => ({ path, old_path })
const never = new AbortController().signal

test('the first file that counts is found, under its new or old name', async () => {
  const moved = file('web/a.ts', 'api/a.ts')
  assert.equal(await findCounting(rules, [file('web/b.ts'), moved, file('api/b.ts')], never), moved)
  assert.equal(await findCounting(rules, [file('api/README.md'), file('web/b.ts')], never), undefined)
})

test('other work gets its turn while many files are looked at, and it ends when aborted', async () => {
  const slow = compilePathRules(Array.from({ length: 9 }, () => `${'*a'.repeat(100)}b`))
  const files = Array.from({ length: 5_000 }, () => file('a'.repeat(1_000)))
  const stop = new AbortController()
  setTimeout(() => stop.abort(), 1)
  await assert.rejects(findCounting(slow, files, stop.signal), { name: 'AbortError' })
})

test('a name is shown as one line without control characters', () => {
  assert.equal(shownPath('api/über file.ts'), 'api/über file.ts')
  assert.equal(shownPath('a\n\u001b[2Jb\u2028c\u202ed'), 'a [2Jb c d')
  const long = shownPath(`${'x'.repeat(198)}😀😀`)
  assert.ok(long.length <= 200 && long.isWellFormed(), long)
})
