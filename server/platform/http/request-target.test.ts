import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pathAndQuery } from './request-target.ts'

test('a target in the usual form is left as it is', () => {
  for (const target of ['/', '/actions?page=2', '/a/http://b', '*', '//x'])
    assert.equal(pathAndQuery(target), target)
})

test('a target that names the whole address loses scheme and host', () => {
  assert.equal(pathAndQuery('http://any.example:80/actions?page=2'), '/actions?page=2')
  assert.equal(pathAndQuery('HTTPS://any.example/'), '/')
  assert.equal(pathAndQuery('http://any.example?page=2'), '?page=2')
})
