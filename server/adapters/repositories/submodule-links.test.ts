import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseEntries, pathProblem } from './submodule-links.ts'

test('entries of .gitmodules are found by their path, whatever their name is', () => {
  const output = [
    'submodule.a.b.path\nlib',
    'submodule.a.b.url\nhttps://a.example/x\ny',
    'submodule.second.url\nhttps://b.example',
    'submodule.second.path\nvendor/x',
    'submodule.second.update\nnone',
    'submodule.third.path\nlib',
    'submodule.third.url\n../last.git',
    'submodule.nowhere.url\nhttps://c.example',
    'submodule.flag.path',
    'submodule.secret.token\nx',
    '',
  ].join('\0')
  assert.deepEqual(
    [...parseEntries(output)],
    [
      ['lib', { path: 'lib', url: '../last.git' }],
      ['vendor/x', { path: 'vendor/x', url: 'https://b.example', update: 'none' }],
    ],
  )
})

test('paths that lead elsewhere when they are unpacked are refused', () => {
  const problems = (path: string, symlinks: string[] = []) => pathProblem(path, symlinks)
  for (const path of ['../x', '/x', 'a/../b', 'a//b', './a', 'a/', '..'])
    assert.equal(problems(path), 'leads out of the repository', path)
  for (const path of ['.git', 'a/.GIT/b', '.git/modules']) assert.equal(problems(path), 'contains .git', path)
  for (const path of ['a\nb', 'a\0', 'a\ufffd'])
    assert.equal(problems(path), 'contains characters that are not allowed')
  assert.equal(problems('x/'.repeat(3_000).slice(0, -1)), 'is too long')
  assert.equal(problems('a/b/c', ['a/b']), 'goes through the symbolic link "a/b"')
  assert.equal(problems('Vendor/x', ['vendor']), 'goes through the symbolic link "vendor"')
  assert.equal(problems('lib', ['Lib']), 'goes through the symbolic link "Lib"')
  for (const path of ['lib', 'vendor/a b', '.github', 'a/..b', '-x', 'ü'])
    assert.equal(problems(path, ['li', 'lib/x', 'vendor/a']), undefined, path)
})
