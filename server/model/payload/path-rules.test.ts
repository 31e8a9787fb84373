import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compilePathRules, countsFile, parsePathRule } from './path-rules.ts'

const counted = (globs: string[], ...files: string[]) => {
  const rules = compilePathRules(globs)
  return files.filter((file) => countsFile(rules, file))
}

test('the last rule that matches a file decides about it', () => {
  const files = ['api/a.ts', 'api/a.md', 'api/docs/keep.md', 'web/a.ts', '.github/ci.yml']
  assert.deepEqual(counted(['api/**'], ...files), ['api/a.ts', 'api/a.md', 'api/docs/keep.md'])
  assert.deepEqual(counted(['api/**', '!**/*.md'], ...files), ['api/a.ts'])
  assert.deepEqual(counted(['api/**', '!**/*.md', 'api/docs/**'], ...files), ['api/a.ts', 'api/docs/keep.md'])
  assert.deepEqual(counted(['!**/*.md', 'api/**'], ...files), files)
})

test('a list that starts with an exclusion counts all other files, dot files included', () => {
  const files = ['docs/a.md', '.env', 'src/.x/y', 'docs2/a']
  assert.deepEqual(counted(['!docs/**'], ...files), ['.env', 'src/.x/y', 'docs2/a'])
  assert.deepEqual(counted([], ...files), files)
})

test('a rule that can match no file says why', () => {
  const messages = ['/api/**', './api', 'api/', '!', '{a'].map((text) => {
    const parsed = parsePathRule(text)
    return parsed.kind === 'invalid' ? parsed.message : parsed.kind
  })
  for (const [index, expected] of [/leading/, /leading/, /api\/\*\*/, /empty/, /without/].entries())
    assert.match(messages[index]!, expected)
})
