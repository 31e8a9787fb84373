import assert from 'node:assert/strict'
import { test } from 'node:test'
import { renderRequest, type TemplateContext } from '#adapters/templates/render.ts'
import { compileRequests } from '#model/hooks/compile-requests.ts'
import type { OutgoingHook } from './outgoing-hooks.ts'
import { showRequest } from './prepare-request.ts'

const rule = { type: 'string' as const, required: true, path: 'key' }
const capture: OutgoingHook['capture'] = [
  { ...rule, name: 'key', hidden: true },
  { ...rule, name: 'id', hidden: false },
]
const context = {
  event: {},
  action: { id: 7 },
  application: { name: 'shop', source_provider: { name: 'github', access_token: 'ghp_1' } },
  credential: { access_token: 'ghp_2' },
  captured: { key: 'k3y', id: 'm1' },
} as TemplateContext

function show(text: string) {
  const request_body = { text }
  const outcome = compileRequests({
    target_url: 'https://x.example/{{ action.id }}',
    settings: { request_body, capture },
  })
  assert.equal(outcome.kind, 'compiled')
  const planned = outcome.kind === 'compiled' ? outcome.requests.first : assert.fail()
  const rendered = renderRequest(planned.compiled, context)
  const { url, headers, body } = rendered.kind === 'rendered' ? rendered : assert.fail(rendered.message)
  const sent = { method: 'POST', url, headers, body }
  const shown = showRequest(planned, { capture }, context, sent)
  return { sent, shown, text: shown.body && JSON.parse(shown.body.toString()).text }
}

test('a request that reads no secret is not rendered a second time', () => {
  for (const text of [
    'plain',
    '{{ action.id }}',
    '{{ captured.id }}',
    '{{ application.source_provider.name }}',
  ]) {
    const { sent, shown } = show(text)
    assert.equal(shown, sent)
  }
})

test('every way to read a secret leads to a record with placeholders', () => {
  const ways = {
    '{{ credential.access_token | slice: 0, 5 }}': '*****',
    "{{ application['source_provider'].access_token | append: '.' }}": '********.',
    '{{ captured.key | size }}': '8',
    '{{ captured | json }}': '{"key":"********","id":"m1"}',
    '{% for one in captured %}{{ one | last }}{% endfor %}': '********m1',
    "{% if credential.access_token == 'ghp_2' %}yes{% else %}no{% endif %}": 'no',
  }
  for (const [template, expected] of Object.entries(ways))
    assert.equal(show(template).text, expected, template)
})

test('what cannot be rendered with placeholders is shown with the URL of the hook only', () => {
  const { shown } = show(
    '{{ captured.key | size | plus: 1 }}{% if captured.key == "********" %}{{ "x" | integer }}{% else %}{{ 1 | integer }}{% endif %}',
  )
  assert.deepEqual(shown, {
    method: 'POST',
    url: 'https://x.example/{{ action.id }}',
    headers: null,
    body: null,
  })
})
