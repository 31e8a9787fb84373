import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compileRequests } from '#model/hooks/compile-requests.ts'
import type { OutgoingHookChange } from '#model/hooks/schemas.ts'
import { FieldErrors } from '#platform/http/problems.ts'
import { requestOf } from './hook-columns.ts'
import { checkRequests, targetUrlsOf } from './validate-requests.ts'

const URL = 'https://chat.example/messages'
const capture = [{ name: 'id', path: 'id' }]
const requests = { create: { target_url: URL }, update: { target_url: `${URL}/{{ captured.id }}` } }

function problems(input: OutgoingHookChange, stored?: Parameters<typeof checkRequests>[1]) {
  const errors = new FieldErrors()
  checkRequests(input, stored, errors)
  return Object.keys(errors.found)
}

test('two requests need a required value, and exclude those of one', () => {
  assert.deepEqual(problems({ settings: { capture, requests } }), [])
  assert.deepEqual(problems({ target_url: URL, settings: { capture, requests } }), [])
  assert.deepEqual(problems({ target_url: 'https://other.example', settings: { capture, requests } }), [
    'target_url',
  ])
  const optional = [{ name: 'id', path: 'id', required: false }]
  assert.deepEqual(problems({ settings: { capture: optional, requests } }), ['settings.capture'])
  assert.deepEqual(problems({ settings: { capture, requests, request_method: 'PUT' } }), [
    'settings.request_method',
  ])
  assert.deepEqual(problems({ target_url: URL }, { settings: { requests } }), ['target_url'])
})

test('a captured value has one origin and a name of its own', () => {
  const found = (...capture: NonNullable<OutgoingHookChange['settings']>['capture'] & {}) =>
    problems({ settings: { capture } })
  assert.deepEqual(found({ name: 'id', path: 'a.b' }, { name: 'place', header: 'Location' }), [])
  assert.deepEqual(found({ name: 'id', path: 'a' }, { name: 'ID', path: 'b' }), ['settings.capture.1.name'])
  assert.deepEqual(found({ name: 'id' }), ['settings.capture.0'])
  assert.deepEqual(found({ name: 'id', path: 'a', header: 'b' }), ['settings.capture.0'])
  assert.deepEqual(found({ name: 'id', path: 'a..b' }), ['settings.capture.0.path'])
  assert.deepEqual(found({ name: 'id', path: 'a', type: 'boolean', hidden: true }), [
    'settings.capture.0.hidden',
  ])
})

test('templates know captured values, except in the request that creates, and never in the host', () => {
  const errors = (settings: object, target_url = URL) => {
    const compiled = compileRequests(requestOf({ target_url, settings: { capture, ...settings } }))
    return compiled.kind === 'invalid' ? Object.keys(compiled.errors) : []
  }
  const captured = { request_body: { id: '{{ captured.id }}' } }
  assert.deepEqual(errors(captured), [])
  assert.deepEqual(errors({ request_body: { id: '{{ captured.other }}' } }), ['settings.request_body.id'])
  assert.deepEqual(errors({ capture: [], ...captured }), ['settings.request_body.id'])
  assert.deepEqual(errors({ requests }), [])
  assert.deepEqual(errors({ requests: { ...requests, create: { target_url: URL, ...captured } } }), [
    'settings.requests.create.request_body.id',
  ])
  const host = { target_url: 'https://{{ captured.id }}.example/' }
  assert.deepEqual(errors({ requests: { ...requests, update: host } }), [
    'settings.requests.update.target_url',
  ])
})

test('what was captured cannot change the rest of a URL', async () => {
  const { renderRequest } = await import('#adapters/templates/render.ts')
  const compiled = compileRequests(requestOf({ settings: { capture, requests } }))
  assert.ok(compiled.kind === 'compiled')
  const url = (id: string) => {
    const context = { event: {}, action: {}, captured: { id } }
    const rendered = renderRequest(compiled.requests.update!.compiled, context)
    return rendered.kind === 'rendered' ? rendered.url : rendered.message
  }
  assert.equal(url('a/b?c#d{{ event }}'), `${URL}/a%2Fb%3Fc%23d%7B%7B%20event%20%7D%7D`)
  assert.match(url('..'), /path segment/)
})

test('every URL of a change is checked, at its field', () => {
  assert.deepEqual(targetUrlsOf({ target_url: URL }), [{ field: 'target_url', url: URL }])
  assert.deepEqual(
    targetUrlsOf({ target_url: URL, settings: { requests } }).map(({ field }) => field),
    ['settings.requests.create.target_url', 'settings.requests.update.target_url'],
  )
})
