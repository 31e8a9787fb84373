import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compiled, problemsOf, VARIABLES } from './fixtures.ts'

const urlProblem = (url: string) => problemsOf({ url }).target_url?.join(' | ')
const bodyProblem = (text: string) =>
  problemsOf({ body: { text } })['settings.request_body.text']?.join(' | ')

test('the names of the specification are known, and so is everything that an action shows', () => {
  const body = {
    a: `{{ ${VARIABLES}.sha }} {{ ${VARIABLES}["x-y"] }} {{ ${VARIABLES}.x-y }} {{ ${VARIABLES}.deep.er[0] }}`,
    b: '{{ action.status }} {{ application.name }} {{ application.source_provider.access_token }}',
    c: '{{ event.id }} {{ event.kind }} {{ event.occurred_at }} {{ event.previous_status }}',
    d: '{{ pipeline.operation }} {{ environment.name }} {{ project.organization.url_slug }} {{ organization.id }}',
    e: '{{ action.targets[0].steps.last.status }} {{ action.targets.size }} {{ action.resource.data.name.size }}',
    f: '{{ action.action_data.commit.hash | slice: 0, 8 }} {{ ["action"]["status"] }} {{ "text".size }}',
  }
  assert.deepEqual(problemsOf({ body }), {})
})

test('an unknown name is rejected with its position and the closest known one', () => {
  assert.equal(
    bodyProblem('is {{ action.stauts }}'),
    'has the unknown name action.stauts; did you mean action.status? (at character 14)',
  )
  assert.match(
    bodyProblem('a\n  {{ foo }}')!,
    /unknown name foo; available: event, action, .*\(at line 2, column 6\)$/,
  )
  assert.match(
    bodyProblem('{{ action.targets.count }}')!,
    /available below action.targets: first, last, size/,
  )
  for (const inner of ['action_data.comit', 'resource.data.nmae', 'triggered_from.emial', 'environment.tpye'])
    assert.match(bodyProblem(`{{ action.${inner} }}`)!, /unknown name/)
  assert.match(bodyProblem('{{ application.source_provider.secret }}')!, /unknown name/)
  assert.match(bodyProblem('{{ action.constructor }}')!, /unknown name/)
  assert.match(bodyProblem('{{ __proto__ }}')!, /unknown name/)
})

test('a dynamic key is allowed below the variables of a hook only', () => {
  assert.equal(bodyProblem(`{{ ${VARIABLES}[action.status] }}`), undefined)
  assert.match(bodyProblem('{{ action[event.kind] }}')!, /dynamic key below action/)
  assert.match(bodyProblem('{{ [event.kind] }}')!, /not with brackets/)
  assert.match(bodyProblem('{{ application[true] }}')!, /dynamic key below application/)
})

test('assigned names are known after the assignment, and so is what they refer to', () => {
  assert.equal(bodyProblem('{% assign a = action.status %}{{ a | upcase }}'), undefined)
  assert.equal(bodyProblem('{% capture a %}{{ action.id }}{% endcapture %}{{ a }}'), undefined)
  assert.equal(
    bodyProblem('{% for t in action.targets %}{{ forloop.index }} {{ t.status }}{% endfor %}'),
    undefined,
  )
  assert.match(bodyProblem('{{ a }}{% assign a = 1 %}')!, /unknown name a/)
  assert.match(
    bodyProblem('{% for t in action.targets %}{{ t.stauts }}{% endfor %}')!,
    /did you mean t.status/,
  )
  assert.match(bodyProblem('{% for t in action.targets %}{% endfor %}{{ t.status }}')!, /unknown name t/)
  assert.match(bodyProblem('{% assign action = 1 %}')!, /reassigns the name action/)
})

test('changes, which became a name later, can be assigned by a template that has not read it', () => {
  assert.equal(bodyProblem('{% assign changes = action.status %}{{ changes | upcase }}'), undefined)
  assert.equal(bodyProblem('{% capture changes %}{{ action.id }}{% endcapture %}{{ changes }}'), undefined)
  const loop = '{% for changes in action.targets %}{{ changes.status }}{% endfor %}'
  assert.equal(bodyProblem(loop), undefined)
  assert.equal(bodyProblem(`${loop}{{ changes.to_sha }}`), undefined)
  const reassigns = /reassigns the name changes/
  assert.match(bodyProblem('{{ changes.to_sha }}{% assign changes = 1 %}')!, reassigns)
  assert.match(bodyProblem('{% for changes in changes.commits %}{% endfor %}')!, reassigns)
})

test('tags and filters that are not on the list are rejected', () => {
  for (const tag of [
    'include "x"',
    'render "x"',
    'layout "x"',
    'cycle 1, 2',
    'increment a',
    'echo 1',
    'liquid',
  ])
    assert.match(bodyProblem(`{% ${tag} %}`)!, /^has the unknown tag ".*"; available: assign,/)
  for (const filter of ['raw', 'where_exp: "x", "1"', 'concat: 1', 'sample', 'nope'])
    assert.match(bodyProblem(`{{ action.id | ${filter} }}`)!, /^has the unknown filter ".*"/)
})

test('a syntax error says what and where', () => {
  assert.match(bodyProblem('x {{ action.id')!, /not closed \(at character 3\)$/)
  assert.match(bodyProblem('{% if action.id %}x')!, /not closed \(at character 1\)$/)
  assert.match(bodyProblem('x{% endif %}')!, /^has \{% endif %\} without its opening tag \(at character 2\)$/)
  assert.match(bodyProblem('{{ action.id action.status }}')!, /do not match \(at character 4\)$/)
  assert.match(bodyProblem('{{ }}')!, /not a valid template/)
})

test('all problems are reported at once, each under its field', () => {
  const errors = problemsOf({
    url: 'https://receiver.example/{{ a }}/{{ b }}',
    headers: [
      { name: 'Host', value: 'x' },
      { name: 'X-One', value: '{{ c }}' },
      { name: 'x-one', value: '' },
    ],
    body: { list: [{ text: '{{ d }}' }], 'any key': '{{ e }}' },
  })
  assert.deepEqual(Object.keys(errors).sort(), [
    'settings.request_body.any key',
    'settings.request_body.list.0.text',
    'settings.request_headers.0.name',
    'settings.request_headers.1.value',
    'settings.request_headers.2.name',
    'target_url',
  ])
  assert.equal(errors.target_url?.length, 2)
})

test('expressions cannot choose scheme, credentials, host or port', () => {
  for (const url of [
    'https://{{ action.id }}/',
    'https://user{{ action.id }}@receiver.example/',
    'https://receiver.example{{ action.id }}/',
    'http://receiver.example:{{ action.id }}/',
    'http{{ action.id }}://receiver.example/',
    '{{ action.status }}://receiver.example/',
    'https://{% if action.id %}receiver.example{% endif %}/path',
    'https://{% raw %}receiver.example/{% endraw %}{{ action.id }}',
  ])
    assert.match(urlProblem(url)!, /must not contain template expressions before the path/, url)
  for (const url of [
    'https://receiver.example/{{ action.id }}',
    'https://receiver.example?id={{ action.id }}',
    'https://receiver.example#{{ action.id }}',
    'http://receiver.example:8080/{% if action.id %}a{% else %}b{% endif %}',
  ])
    assert.equal(urlProblem(url), undefined, url)
})

test('a URL must be a plain http or https URL', () => {
  assert.match(urlProblem('ftp://receiver.example/')!, /must begin with http/)
  assert.match(urlProblem('javascript:alert(1)')!, /must begin with http/)
  assert.match(urlProblem('https:///path')!, /must have a host/)
  assert.match(urlProblem('https://receiver.example:99999/')!, /must be a valid URL/)
  assert.match(urlProblem('https://me:word@receiver.example/{{ action.id }}')!, /user name or password/)
  assert.match(urlProblem('https://@receiver.example/')!, /user name or password/)
  for (const character of [' ', '\t', '\n', '\0', '\x7f', '\\'])
    assert.match(urlProblem(`https://receiver.example/a${character}{{ action.id }}`)!, /control characters/)
  for (const segment of ['..', '.', '%2e%2E', '.%2e'])
    assert.match(urlProblem(`https://receiver.example/a/${segment}/b`)!, /path segments/)
})

test('the access token is allowed in headers and body, never in the URL, by no detour', () => {
  const token = 'application.source_provider.access_token'
  for (const expression of [
    `{{ ${token} }}`,
    '{{ application["source_provider"]["access_token"] | base64_encode }}',
    `{% assign a = ${token} %}{{ a }}`,
    `{% capture a %}{{ ${token} }}{% endcapture %}{{ a }}`,
    `{% if ${token} == "x" %}{% endif %}`,
    `{{ action.status | append: ${token} }}`,
    `{{ ${VARIABLES}[${token}] }}`,
  ])
    assert.match(
      urlProblem(`https://receiver.example/?${expression}`)!,
      /must not contain application/,
      expression,
    )
  for (const expression of [
    '{{ application }}',
    '{{ application.source_provider | json }}',
    '{{ application | map: "source_provider.access_token" }}',
    '{% for pair in application %}{{ pair }}{% endfor %}',
    '{% assign a = application %}{{ a.source_provider.access_token }}',
  ])
    assert.match(bodyProblem(expression)!, /which contains a secret/, expression)
  assert.equal(
    compiled({ headers: [{ name: 'Authorization', value: `Bearer {{ ${token} }}` }] }).usesAccessToken,
    true,
  )
  assert.equal(compiled({ body: { a: '{{ application.name }}' } }).usesAccessToken, false)
})

test('headers of the connection and of the signature cannot be set', () => {
  for (const name of ['host', 'Content-Length', 'TE', 'Proxy-Authorization', 'Expect', 'Webhook-Id'])
    assert.match(
      problemsOf({ headers: [{ name, value: 'x' }] })['settings.request_headers.0.name']!.join(),
      /cannot be overridden/,
    )
  assert.deepEqual(problemsOf({ headers: [{ name: 'Content-Type', value: 'application/vnd.api+json' }] }), {})
})

test('a literal header that cannot be sent is rejected', () => {
  for (const value of ['a\u0007b', 'price: 5 €', '{{ action.id }} 日本'])
    assert.match(
      problemsOf({ headers: [{ name: 'X', value }] })['settings.request_headers.0.value']!.join(),
      /has a character that is not allowed in headers/,
    )
  assert.deepEqual(problemsOf({ headers: [{ name: 'X', value: 'café\t{{ action.id }}' }] }), {})
})

test('a body of more than 128 KiB or 20 levels is rejected', () => {
  assert.match(
    problemsOf({ body: { text: 'x'.repeat(200_000) } })['settings.request_body']!.join(),
    /128 KiB/,
  )
  let deep: Record<string, unknown> = { end: 'x' }
  for (let level = 1; level < 20; level += 1) deep = { a: deep }
  assert.deepEqual(problemsOf({ body: deep }), {})
  assert.match(Object.values(problemsOf({ body: { a: deep } }))[0]!.join(), /deeper than 20 levels/)
})

test('a request has a bounded number of expressions, of bounded length and range', () => {
  assert.deepEqual(problemsOf({ body: { text: '{{ action.id }}'.repeat(200) } }), {})
  assert.match(bodyProblem('{{ action.id }}'.repeat(201))!, /limit of 200 expressions/)
  assert.match(bodyProblem(`{{ action.id ${'| plus: 1'.repeat(60)} }}`)!, /more than 500 characters/)
  // Beyond 2^53 counting up has no effect.
  for (const range of ['1..1001', '1..action.id', `1..${VARIABLES}.n`, '9007199254740992..9007199254740994'])
    assert.match(bodyProblem(`{% for a in (${range}) %}{% endfor %}`)!, /has a range that is not like/)
})

test('a compiled request knows what it reads', () => {
  const { reads } = compiled({
    url: `https://receiver.example/{{ application.name }}/{{ ${VARIABLES}.sha }}`,
    body: { text: '{% if action.status == "failed" %}{{ project.name }}{% endif %}' },
  })
  assert.deepEqual([...reads].sort(), [
    'action.status',
    'action.triggered_from',
    'application.name',
    'project.name',
  ])
  assert.deepEqual([...compiled({ body: { text: '{{ action.targets.size }}' } }).reads], ['action.targets'])
  assert.deepEqual([...compiled({ body: { text: '{{ action | json }}' } }).reads], ['action.*'])
  assert.deepEqual([...compiled({}).reads], ['*'])
  assert.deepEqual([...compiled({ method: 'GET' }).reads], [])
})
