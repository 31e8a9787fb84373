import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { compiled, contextWith, render, rendered, textOf, VARIABLES } from './fixtures.ts'
import { renderRequest } from './render.ts'

const urlOf = (url: string, variables: Record<string, unknown> = {}) => rendered({ url }, variables).url

test('a commit status is sent the way a provider expects it', () => {
  const request = rendered(
    {
      url: `https://api.github.example/repos/{{ application.name }}/statuses/{{ ${VARIABLES}.sha }}`,
      headers: [
        { name: 'Authorization', value: 'Bearer {{ application.source_provider.access_token }}' },
        { name: 'X-Event', value: '{{ event.kind }}' },
      ],
      body: {
        state:
          '{% case action.status %}{% when "completed" %}success{% when "failed" %}failure{% else %}pending{% endcase %}',
        target_url: '{{ action.url_web_permalink }}',
        description: 'Deploy {{ action.status }} on {{ action.targets.size }} servers',
        count: 3,
        nothing: null,
        nested: [true, { '{{ key }}': 'plain }}' }],
      },
    },
    { sha: 'abc123' },
  )
  assert.deepEqual(request, {
    url: 'https://api.github.example/repos/shop/front/statuses/abc123',
    headers: { Authorization: 'Bearer glpat-secret', 'X-Event': 'action.completed' },
    body: {
      state: 'success',
      target_url: 'https://gantry.example/app/actions/7',
      description: 'Deploy completed on 2 servers',
      count: 3,
      nothing: null,
      nested: [true, { '{{ key }}': 'plain }}' }],
    },
  })
})

test('a hook without a custom body sends the event, and a GET sends none', () => {
  const { event, action } = contextWith()
  assert.deepEqual(rendered({}).body, { event, action })
  assert.equal(rendered({ method: 'GET' }).body, null)
  assert.equal(rendered({ method: 'GET', body: { a: 'b' } }).body, null)
})

test('missing values are empty, and objects are JSON', () => {
  assert.equal(
    textOf(`[{{ ${VARIABLES}.none }}{{ ${VARIABLES}.none.below }}{{ event.previous_status }}]`),
    '[]',
  )
  assert.equal(textOf('[{{ project.name }}]'), '[]')
  assert.equal(textOf(`{{ ${VARIABLES}.list }}`, { list: [1, 'b', { c: null }] }), '[1,"b",{"c":null}]')
  assert.equal(textOf('{{ action.targets.first.resource_data }}'), '{"name":"web-1"}')
  assert.equal(
    textOf('{% assign a = action.targets %}{{ a | map: "status" | join: "+" }}'),
    'failed+completed',
  )
  assert.equal(
    textOf(`{{ ${VARIABLES}.n }} {{ ${VARIABLES}.yes }} {{ nil }}`, { n: 0, yes: false }),
    '0 false ',
  )
})

test('inherited properties of values are not accessible', () => {
  for (const key of ['constructor', '__proto__', 'toString', 'hasOwnProperty'])
    assert.equal(
      textOf(`[{{ ${VARIABLES}.${key} }}{{ ${VARIABLES}.list["${key}"] | strip }}]`, { list: [1] }),
      '[]',
    )
})

test('filters, conditions and loops do what Liquid does', () => {
  assert.equal(textOf(`{{ ${VARIABLES}.branch | default: "main" | upcase }}`), 'MAIN')
  assert.equal(
    textOf(
      '{% for t in action.targets %}{{ t.resource_data.name }}{% unless forloop.last %}, {% endunless %}{% endfor %}',
    ),
    'web-1, web-2',
  )
  assert.equal(
    textOf('{{ action.targets | where: "status", "failed" | map: "resource_data.name" | join: ", " }}'),
    'web-1',
  )
  assert.equal(textOf('{% comment %}{{ x }}{% endcomment %}{% raw %}{{ x }}{% endraw %}'), '{{ x }}')
})

test('dates are in UTC wherever the service runs, and do not depend on the clock', () => {
  assert.equal(textOf('{{ event.occurred_at | date: "%d.%m.%Y %H:%M" }}'), '15.11.2026 08:00')
  assert.equal(textOf('{{ event.occurred_at | date }}'), '2026-11-15T08:00:00Z')
  assert.equal(textOf('{{ "now" | date: "%Y" }}'), 'now')
})

test('names that one text assigns are unknown in the next', () => {
  const { body } = rendered({
    body: {
      one: '{% assign a = "x" %}{{ a }}',
      two: '{% if event.previous_status %}{% assign a = "y" %}{% endif %}[{{ a }}]',
    },
  })
  assert.deepEqual(body, { one: 'x', two: '[]' })
})

test('a text may have a name of its own that is called changes', () => {
  assert.equal(textOf('{% assign changes = action.status %}[{{ changes }}]'), textOf('[{{ action.status }}]'))
})

test('in a URL, variables are fully encoded, our own fields keep their slashes', () => {
  const branch = { branch: "feature/ä b?c#d&e=%2F'()*!" }
  const whole = 'feature%2F%C3%A4%20b%3Fc%23d%26e%3D%252F%27%28%29%2A%21'
  const url = (expression: string) => urlOf(`https://receiver.example/a/${expression}`, branch)
  assert.equal(url('{{ application.name }}'), 'https://receiver.example/a/shop/front')
  for (const expression of [
    `{{ ${VARIABLES}.branch }}`,
    `{{ ${VARIABLES}.branch | strip }}`,
    `{{ "" | append: ${VARIABLES}.branch }}`,
    `{{ application.name | default: 1 | replace: application.name, ${VARIABLES}.branch }}`,
    `{% assign a = ${VARIABLES}.branch %}{{ a }}`,
    `{% capture a %}{{ ${VARIABLES}.branch }}{% endcapture %}{{ a }}`,
    `{% for pair in ${VARIABLES} %}{{ pair[1] }}{% endfor %}`,
  ])
    assert.equal(url(expression), `https://receiver.example/a/${whole}`, expression)
  assert.equal(
    url(`{{ ${VARIABLES}.branch | path }}`),
    `https://receiver.example/a/${whole.replace('%2F', '/')}`,
  )
})

test('a value cannot climb out of the path', () => {
  const resultOf = (url: string, variables: Record<string, unknown>) => {
    const outcome = render({ url }, variables)
    return outcome.kind === 'failed' ? `${outcome.field} ${outcome.message}` : outcome.url
  }
  const climbs = 'target_url has the path segment . or .. when rendered'
  const at = `https://receiver.example/a/{{ ${VARIABLES}.v | path }}/b`
  for (const v of ['..', '.', '../..', 'x/../../y', '/..']) assert.equal(resultOf(at, { v }), climbs, v)
  assert.equal(resultOf(`https://receiver.example/a/{{ ${VARIABLES}.v }}`, { v: '..' }), climbs)
  assert.equal(resultOf(`https://receiver.example/{{ ${VARIABLES}.v }}.`, { v: '.' }), climbs)
  assert.equal(
    resultOf(`https://receiver.example/%2{{ ${VARIABLES}.v }}%2{{ ${VARIABLES}.v }}/`, { v: 'e' }),
    climbs,
  )
  assert.equal(resultOf(at, { v: '%2e%2e' }), 'https://receiver.example/a/%252e%252e/b')
  assert.equal(resultOf(at, { v: '..%2f..' }), 'https://receiver.example/a/..%252f../b')
  assert.equal(
    resultOf(`https://receiver.example/?x={{ ${VARIABLES}.v }}`, { v: '/../' }),
    'https://receiver.example/?x=%2F..%2F',
  )
  assert.match(resultOf(at, { v: 'x'.repeat(9000) }), /longer than 8192/)
})

test('a value cannot add a second header', () => {
  const value = (v: unknown) =>
    rendered({ headers: [{ name: 'X-One', value: `a {{ ${VARIABLES}.v }}` }] }, { v }).headers
  assert.deepEqual(value('b\r\nX-Evil: 1\r\n\r\nbody'), { 'X-One': 'a b X-Evil: 1 body' })
  assert.deepEqual(value('b\0c\x7f'), { 'X-One': 'a b c' })
  assert.deepEqual(value('café 日 😀'), { 'X-One': 'a café ? ?' })
  assert.match(
    JSON.stringify(
      render({ headers: [{ name: 'X', value: `{{ ${VARIABLES}.v }}` }] }, { v: 'x'.repeat(9000) }),
    ),
    /longer than 8192/,
  )
})

test('no error message contains a value of a run', () => {
  const outcome = render(
    { body: { text: '{{ event.occurred_at | date: "%d", application.source_provider.access_token }}' } },
    {},
  )
  assert.equal(outcome.kind, 'failed')
  assert.equal(JSON.stringify(outcome).includes('glpat'), false)
})

test('endless templates are stopped soon', () => {
  const long = 'a'.repeat(64 * 1024)
  const list = Array.from({ length: 32_000 }, () => 1)
  const variables = { long, list, nested: [list], same: [[...list]] }
  const nest = (inside: string) =>
    ['a', 'b', 'c'].reduce((text, name) => `{% for ${name} in (1..1000) %}${text}{% endfor %}`, inside)
  for (const text of [
    nest(''),
    nest('{{ action.id }}'),
    `{% capture a %}${nest('words '.repeat(10_000))}{% endcapture %}{% if a == "x" %}{% endif %}`,
    `{% assign a = ${VARIABLES}.long %}${'{% assign a = a | append: a %}'.repeat(60)}{{ a }}`,
    `{{ ${VARIABLES}.long | split: "" | join: ${VARIABLES}.long }}`,
    `{{ ${VARIABLES}.list | where: "a" }}`.repeat(100),
    '{{ event.occurred_at | date: "%A", "Europe/Berlin" }}'.repeat(150),
    '{{ event.occurred_at | date: "%1000000000d" }}',
    `{% for a in (1..1000) %}{% case ${VARIABLES}.nested %}{% when ${VARIABLES}.same %}{% endcase %}{% endfor %}`,
  ]) {
    const before = process.cpuUsage()
    const outcome = render({ body: { text } }, variables)
    const { user, system } = process.cpuUsage(before)
    assert.equal(outcome.kind, 'failed', text.slice(0, 80))
    assert.match(JSON.stringify(outcome), /exceeds the render budget of a request/)
    // About 50 ms on a quiet machine; an unbounded one would run for minutes.
    assert.ok((user + system) / 1000 < 1000, `${text.slice(0, 80)} took ${(user + system) / 1000} ms`)
  }
})

test('the whole request has one budget', () => {
  const list = Array.from({ length: 500 }, (_, index) => index)
  const one = `{% for a in ${VARIABLES}.list %}{{ a }}{% endfor %}`
  assert.equal(render({ body: { one } }, { list }).kind, 'rendered')
  const many = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`text_${index}`, one]))
  assert.equal(render({ body: many }, { list }).kind, 'failed')
})

const anyText = fc.oneof(
  fc.constantFrom('..', '.', '../..', '/../../../x', 'a/..'),
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.string({
    unit: fc.constantFrom('.', '/', '\\', '%', '2', 'e', '?', '#', '@', ':', '\r', '\n', '{', '}', '"'),
  }),
)
const anyValue = fc.oneof(
  anyText,
  fc.integer(),
  fc.boolean(),
  fc.constant(null),
  fc.array(anyText, { maxLength: 3 }),
)

test('whatever the values are, a request keeps its origin, its path, its headers and its structure', () => {
  const request = compiled({
    url: `https://receiver.example:8443/base/{{ ${VARIABLES}.a }}/{{ ${VARIABLES}.b | path }}?q={{ ${VARIABLES}.a }}#{{ ${VARIABLES}.b | upcase }}`,
    headers: [
      { name: 'X-One', value: `{{ ${VARIABLES}.a }}` },
      { name: 'X-Two', value: `two {{ ${VARIABLES}.b | append: ${VARIABLES}.a }}` },
    ],
    body: {
      a: `{{ ${VARIABLES}.a }}`,
      list: [`x{{ ${VARIABLES}.b | json }}`, 1],
      '"quoted"': { b: 'plain' },
    },
  })
  fc.assert(
    fc.property(anyValue, anyValue, (a, b) => {
      const outcome = renderRequest(request, contextWith({ a, b }))
      if (outcome.kind === 'failed') return outcome.message === 'has the path segment . or .. when rendered'
      const url = new URL(outcome.url)
      assert.equal(url.origin, 'https://receiver.example:8443')
      assert.ok(url.pathname.startsWith('/base/'))
      assert.equal(url.username + url.password, '')
      assert.deepEqual(Object.keys(outcome.headers), ['X-One', 'X-Two'])
      for (const value of Object.values(outcome.headers)) assert.match(value, /^[\x20-\x7e\x80-\xff]*$/)
      const body = JSON.parse(outcome.body!.toString())
      assert.deepEqual(Object.keys(body), ['a', 'list', '"quoted"'])
      assert.deepEqual(body.list.slice(1), [1])
      assert.deepEqual(body['"quoted"'], { b: 'plain' })
      assert.equal(typeof body.a, 'string')
      return true
    }),
    { numRuns: 500 },
  )
})

test('a plain name gives the same text on the fast path and on the slow path', () => {
  fc.assert(
    fc.property(anyValue, (a) => {
      const short = textOf(`<{{ ${VARIABLES}.a }}>`, { a })
      assert.equal(textOf(`<{% if true %}{{ ${VARIABLES}.a }}{% endif %}>`, { a }), short)
    }),
  )
})
