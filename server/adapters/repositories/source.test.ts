import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { quote, readSource } from './source.ts'

const kindOf = (type: 'branch' | 'tag' | 'commit', ref: string) => readSource({ type, ref }).kind

test('branches and tags become full names, commits lower-case digits', () => {
  assert.deepEqual(readSource({ type: 'branch', ref: 'feature/x' }), {
    kind: 'ref',
    name: 'refs/heads/feature/x',
  })
  assert.deepEqual(readSource({ type: 'tag', ref: 'v1.0' }), { kind: 'ref', name: 'refs/tags/v1.0' })
  assert.deepEqual(readSource({ type: 'commit', ref: '1A2B3C4' }), { kind: 'hash', digits: '1a2b3c4' })
})

const names = [
  ...[
    'main',
    'ünïcode',
    'a.b',
    'a@b',
    '@',
    'a-',
    'a=b',
    'a,b',
    'a"b',
    "a'b",
    'a$b',
    'a;b',
    'a|b',
    'a&b',
    '$(touch x)',
  ],
  ...[
    '',
    ' ',
    'a b',
    'a\tb',
    'a\nb',
    'a\x7fb',
    '~',
    'a^b',
    'a:b',
    'a?b',
    'a*b',
    'a[b',
    'a\\b',
    '..',
    'a..b',
    '../..',
  ],
  ...[
    '.a',
    'a/.b',
    'a.',
    'a/',
    '/a',
    'a//b',
    'a.lock',
    'a.lock/b',
    'a@{b',
    '@{',
    '@{-1}',
    'a/b.',
    'refs/heads/x',
  ],
  ...['HEAD', 'a~1', 'main^{/x}', ':/x', 'main:path', 'x'.repeat(1_000)],
]

test('names are accepted and rejected as git does', () => {
  for (const name of names) {
    const git = spawnSync('git', ['check-ref-format', `refs/heads/${name}`]).status === 0
    assert.equal(kindOf('branch', name) === 'ref', git, JSON.stringify(name))
  }
})

test('what only looks like a name is rejected', () => {
  for (const name of [
    '-x',
    '--upload-pack=x',
    '-',
    'a\0b',
    '\0',
    'x'.repeat(10_000),
    '\ud800',
    'é'.repeat(600),
  ]) {
    assert.equal(kindOf('branch', name), 'impossible', JSON.stringify(name.slice(0, 20)))
    assert.equal(kindOf('tag', name), 'impossible')
  }
})

test('a commit has 7 to 64 hexadecimal digits', () => {
  for (const ref of ['1234567', 'abcdef0', '1'.repeat(40), '1'.repeat(64)])
    assert.equal(kindOf('commit', ref), 'hash')
  for (const ref of [
    '',
    '123456',
    '1'.repeat(65),
    'HEAD',
    'main',
    '-1234567',
    '1234567\n',
    '1234567^',
    '123456g',
  ]) {
    assert.equal(kindOf('commit', ref), 'impossible', JSON.stringify(ref))
  }
})

test('untrusted text is quoted in one visible, short line', () => {
  assert.equal(quote('main'), '"main"')
  assert.equal(quote('a\n"b"\u202e\\'), String.raw`"a\u{a}\"b\"\u{202e}\\"`)
  assert.ok(quote('x'.repeat(10_000)).length < 100)
  const read = readSource({ type: 'branch', ref: 'x\u0000y' })
  assert.deepEqual(read, {
    kind: 'impossible',
    message: String.raw`"x\u{0}y" is not a valid branch name.`,
  })
})
