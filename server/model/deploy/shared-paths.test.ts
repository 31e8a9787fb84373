import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { readSharedPaths, sharedPathProblem } from './shared-paths.ts'

test('a shared path is a folder unless its last part looks like a file', () => {
  const kinds = {
    storage: 'folder',
    'uploads/': 'folder',
    'a/b': 'folder',
    'v1.2/cache': 'folder',
    '.cache/': 'folder',
    'conf.d/': 'folder',
    '.env': 'file',
    'config/app.json': 'file',
    '-x': 'folder',
    ' a ': 'folder',
    "it's $(x) *": 'folder',
  }
  const read = readSharedPaths(Object.keys(kinds))
  assert.ok(read.kind === 'paths')
  assert.deepEqual(
    read.paths,
    Object.entries(kinds).map(([text, kind]) => ({ kind, path: text.replace(/\/$/, '') })),
  )
})

test('a path that leaves the release, is empty, or cannot be one line is invalid', () => {
  for (const text of [
    '',
    '/',
    '//',
    '.',
    './',
    '..',
    '../x',
    'a/../b',
    'a/..',
    '/etc',
    'a//b',
    'a/./b',
    'a//',
    'a\nb',
    'a\0',
    '\x7f',
    '\ud800',
    'a/.gantry-part',
    'x'.repeat(256),
  ]) {
    assert.equal(typeof sharedPathProblem(text), 'string', JSON.stringify(text))
  }
})

test('each invalid path is named with its reason', () => {
  assert.deepEqual(readSharedPaths(['a', '../x', 'b', '/etc']), {
    kind: 'invalid',
    problems: [
      { index: 1, message: 'must not leave the release' },
      { index: 3, message: 'must be relative to the release' },
    ],
  })
})

test('paths that lie in one another, or are the same, are invalid', () => {
  for (const [first, second] of [
    ['a', 'a/b'],
    ['a/b/c', 'a'],
    ['a', 'a/'],
    ['.env', '.env'],
  ]) {
    const message = `overlaps with the shared path ${JSON.stringify(first)}`
    assert.deepEqual(readSharedPaths([first!, second!]), {
      kind: 'invalid',
      problems: [{ index: 1, message }],
    })
  }
  assert.equal(readSharedPaths(['a', 'ab', 'b/a']).kind, 'paths')
})

test('a hundred paths are the most', () => {
  const many = Array.from({ length: 101 }, (_, index) => `path-${index}`)
  assert.equal(readSharedPaths(many.slice(1)).kind, 'paths')
  assert.equal(readSharedPaths(many).kind, 'invalid')
})

test('any text is invalid, or a relative path of plain names in one line', () => {
  const hard = fc.string({ unit: fc.constantFrom('.', '/', 'a', '\n', ' ') })
  const any = fc.array(fc.nat(0xffff), { maxLength: 20 }).map((units) => String.fromCharCode(...units))
  fc.assert(
    fc.property(fc.oneof(hard, any), (one) => {
      const read = readSharedPaths([one])
      if (read.kind === 'invalid') return
      const parts = read.paths[0]!.path.split('/')
      assert.ok(parts.every((part) => part !== '' && part !== '.' && part !== '..'))
      assert.doesNotMatch(read.paths[0]!.path, /[\0\n]/)
    }),
    { numRuns: 500 },
  )
})
