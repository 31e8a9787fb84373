import assert from 'node:assert/strict'
import { test } from 'node:test'
import { acceptsJson, namesType, pathAndQuery, prefersPage } from './requests.ts'

test('no Accept header, or an empty one, accepts JSON', () => {
  for (const accept of [undefined, '', ' ']) assert.equal(acceptsJson(accept), true)
})

test('JSON, a wildcard or a list with either accepts JSON', () => {
  const headers = [
    'application/json',
    'Application/JSON',
    'application/json; charset=utf-8',
    'application/*',
    '*/*',
    'text/html, application/xhtml+xml, */*;q=0.8',
    'text/html,application/json;q=0.001',
    'application/json;q=1.0',
  ]
  for (const accept of headers) assert.equal(acceptsJson(accept), true, accept)
})

test('a page may be JSON, unless JSON is ruled out', () => {
  for (const accept of ['text/html', 'text/html;q=0.1, image/*', 'text/html, */*;q=0'])
    assert.equal(acceptsJson(accept), true, accept)
  assert.equal(acceptsJson('text/html;q=0'), false)
})

test('a caller prefers a page when it names it, and not JSON', () => {
  for (const accept of ['text/html', 'text/html,application/xhtml+xml,*/*;q=0.8'])
    assert.equal(prefersPage(accept), true, accept)
  for (const accept of [undefined, '', '*/*', 'text/*', 'application/json', 'text/html, application/json'])
    assert.equal(prefersPage(accept), false, String(accept))
})

test('other types do not accept JSON', () => {
  const headers = [
    'text/*',
    'application/xml',
    'application/jsonx',
    'json',
    '*',
    ';',
    ',',
    'text/event-stream',
  ]
  for (const accept of headers) assert.equal(acceptsJson(accept), false, accept)
})

test('a type with the weight 0 is not accepted', () => {
  for (const accept of ['application/json;q=0', '*/*; q=0.000', 'text/html, application/json; Q=0.0']) {
    assert.equal(acceptsJson(accept), false, accept)
  }
})

test('the most specific range decides about JSON', () => {
  assert.equal(acceptsJson('*/*, application/json;q=0'), false)
  assert.equal(acceptsJson('application/*;q=0, application/json'), true)
  assert.equal(acceptsJson('*/*;q=0, application/*'), true)
})

test('a type is named only by itself, not by a wildcard', () => {
  for (const accept of ['text/event-stream', 'Text/Event-Stream; q=0.5', '*/*, text/event-stream']) {
    assert.equal(namesType(accept, 'text/event-stream'), true, accept)
  }
  for (const accept of [undefined, '', '*/*', 'text/*', 'text/event-stream;q=0', 'text/event-streams']) {
    assert.equal(namesType(accept, 'text/event-stream'), false, String(accept))
  }
})

test('a path is left as it is', () => {
  for (const target of ['/', '/actions?page=2', '/a/http://b', '*', '//x'])
    assert.equal(pathAndQuery(target), target)
})

test('an absolute URL loses its scheme and host', () => {
  assert.equal(pathAndQuery('http://any.example:80/actions?page=2'), '/actions?page=2')
  assert.equal(pathAndQuery('HTTPS://any.example/'), '/')
  assert.equal(pathAndQuery('http://any.example?page=2'), '?page=2')
})
