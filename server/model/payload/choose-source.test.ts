import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chooseSource } from './choose-source.ts'
import type { Variables } from './extract-variables.ts'

const chosen = (variables: Variables) => {
  const { source_type, source_ref } = chooseSource(variables, 'main')
  return `${source_type} ${source_ref}`
}

test('precedence is commit, tag, branch, source_ref, default branch', () => {
  const all = { source_ref: 'r', branch: 'b', tag: 't', commit: 'c' }
  const { commit: _commit, ...noCommit } = all
  const { tag: _tag, ...noTag } = noCommit
  const { branch: _branch, ...noBranch } = noTag
  assert.deepEqual([all, noCommit, noTag, noBranch, {}].map(chosen), [
    'commit c',
    'tag t',
    'branch b',
    'branch r',
    'branch main',
  ])
})

test('source_type is the type of source_ref', () => {
  for (const source_type of ['branch', 'tag', 'commit'])
    assert.equal(chosen({ source_ref: 'x', source_type }), `${source_type} x`)
  assert.equal(chosen({ source_ref: 'x', source_type: 'planet' }), 'branch x')
  assert.equal(chosen({ source_type: 'tag' }), 'branch main')
})

test('full refs lose their prefix, which determines their type', () => {
  assert.equal(chosen({ branch: 'refs/heads/feature/x' }), 'branch feature/x')
  assert.equal(chosen({ tag: 'refs/tags/v1' }), 'tag v1')
  assert.equal(chosen({ branch: 'refs/tags/v1' }), 'tag v1')
  assert.equal(chosen({ source_ref: 'refs/tags/v1', source_type: 'branch' }), 'tag v1')
  assert.equal(chosen({ source_ref: 'refs/heads/x', source_type: 'tag' }), 'branch x')
  assert.equal(chosen({ branch: 'refs/heads/refs/heads/x' }), 'branch refs/heads/x')
  assert.equal(chosen({ branch: 'heads/x' }), 'branch heads/x')
})

test('empty values and arrays are ignored; numbers become strings; names are case-insensitive', () => {
  assert.equal(chosen({ commit: '', tag: [], branch: 'b' }), 'branch b')
  assert.equal(chosen({ tag: 7 }), 'tag 7')
  assert.equal(chosen({ Branch: 'b', TAG: '' }), 'branch b')
  assert.equal(chosen({ constructor: 'x' } as unknown as Variables), 'branch main')
})
