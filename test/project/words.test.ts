import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { describe, findPhrases } from './words.ts'

const read = async (t: TestContext, files: Record<string, string>): Promise<string[]> => {
  const root = await mkdtemp(join(tmpdir(), 'words-'))
  t.after(() => rm(root, { recursive: true }))
  for (const [path, source] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true })
    await writeFile(join(root, path), source)
  }
  return (await findPhrases(root)).map(({ path, line, phrase }) => `${path}:${line} ${phrase}`)
}

test('messages, labels and docs use none of the phrases', async () => {
  const findings = await findPhrases(join(import.meta.dirname, '../..'))
  assert.deepEqual(findings.map(describe), [])
})

test('a phrase is found in strings, templates, labels and docs, also across lines', async (t) => {
  const found = await read(t, {
    'server/room/messages.ts': `export const a = 'It failed for good.'\nexport const b = \`\${a}, and\nwent back.\`\n`,
    'web/src/page.tsx':
      'export const Page = () => (\n  <p title="Somebody">\n    Nobody matches {1}\n  </p>\n)\n',
    'cli/src/command.ts': "throw new Error('as far as the caller may see them')\n",
    'docs/page.md': '# A page\n\nWhoever reads it goes\nback.\n',
  })
  assert.deepEqual(found, [
    'cli/src/command.ts:1 as far as the caller may see',
    'docs/page.md:3 goes back',
    'docs/page.md:3 Whoever',
    'server/room/messages.ts:1 failed for good',
    'server/room/messages.ts:3 went back',
    'web/src/page.tsx:2 Somebody',
    'web/src/page.tsx:3 Nobody',
  ])
})

test('comments, identifiers, tests and the account nobody are left alone', async (t) => {
  const found = await read(t, {
    'server/room/account.ts':
      '// Whoever starts it.\n/** It goes back. */\nexport const nobody = \'nobody\'\nexport const advice = `neither "postgres" nor "nobody"`\n',
    'server/room/account.test.ts': "test('nobody waits', () => {})\n",
    'docs/page.md': 'The account `nobody` owns it. It gives its connections back.\n',
  })
  assert.deepEqual(found, [])
})
