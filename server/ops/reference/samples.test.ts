import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'
import { type Operation, readDocument, type Schema } from './document.ts'
import { exampleText } from './operation.ts'
import { curlSample, sampleValue, typescriptLiteral, typescriptSample } from './samples.ts'

const HOSTILE = `it's "$(touch /tmp/x)" \`id\` \\ \n end`

function operationOf(operation: object, path = '/things/{id}', method = 'post'): Operation {
  const document = {
    info: { title: 'Gantry', version: '1' },
    tags: [{ name: 'Things' }],
    paths: { [path]: { [method]: { tags: ['Things'], operationId: 'do', ...operation } } },
  }
  return readDocument(document).tags[0]!.operations[0]!
}

const place = { url: 'https://gantry.example.com', schemas: new Map<string, Schema>() }
const json = (example: unknown) => ({ content: { 'application/json': { schema: {}, example } } })

/** The arguments that curl gets when a shell runs the command. */
function argumentsOf(command: string): string[] {
  const script = `curl() { printf '%s\\0' "$@"; }\n${command}`
  const options = { env: { PATH: process.env.PATH, GANTRY_TOKEN: 'the-token' } }
  return execFileSync('sh', ['-c', script], options).toString().split('\0').slice(0, -1)
}

test('a curl command carries any value through a shell unchanged', () => {
  const operation = operationOf({
    parameters: [
      { name: 'id', in: 'path', required: true, example: HOSTILE },
      { name: 'filter[a&b]', in: 'query', required: true, example: HOSTILE },
      { name: 'optional', in: 'query', example: 'left out' },
    ],
    requestBody: { required: true, ...json({ text: HOSTILE }) },
  })
  const [x, method, url, , authorization, , type, , body] = argumentsOf(curlSample(operation, place))
  const value = encodeURIComponent(HOSTILE)
  assert.deepEqual([x, method], ['-X', 'POST'])
  assert.equal(new URL(url!).href, new URL(`${place.url}/things/${value}?filter%5Ba%26b%5D=${value}`).href)
  assert.equal(authorization, 'Authorization: Bearer the-token')
  assert.equal(type, 'Content-Type: application/json')
  assert.deepEqual(JSON.parse(body!), { text: HOSTILE })
})

test('a public call has no token; a stream is asked for by its type', () => {
  const open = operationOf({ security: [] }, '/', 'get')
  assert.equal(curlSample(open, place), 'curl https://gantry.example.com/')
  assert.doesNotMatch(typescriptSample(open, place), /token/)
  const content = { 'text/event-stream': { schema: { type: 'string' } } }
  const stream = operationOf({ responses: { 200: { content } } }, '/actions/stream', 'get')
  assert.match(curlSample(stream, place), /^curl -N .*\n.*\n {2}-H 'Accept: text\/event-stream'$/)
  assert.match(typescriptSample(stream, place), /for await \(const event of gantry\.followActions\(\)\)/)
})

test('a body that is not required and has nothing to show is left out', () => {
  const schema = { type: 'object', properties: { a: { type: 'string' } } }
  const operation = operationOf({ requestBody: { content: { 'application/json': { schema } } } })
  assert.doesNotMatch(curlSample(operation, place), /-d/)
  assert.doesNotMatch(typescriptSample(operation, place), /body/)
})

test('a TypeScript literal means the value that it was made from', () => {
  for (const value of [HOSTILE, `'"`, '"', '\u2028', 1, true, null, [], {}, [[1, { a: [] }]]]) {
    const wide = { 'a-b': value, $c: value, long: 'x'.repeat(80), undefined: [value, value] }
    assert.deepEqual(new Function(`return ${typescriptLiteral(wide)}`)(), wide)
  }
})

test('a sample value has the required fields, and ends where a schema contains itself', () => {
  const node: Schema = {
    type: 'object',
    required: ['name', 'kind', 'count', 'child', 'tags'],
    properties: {
      name: { type: 'string' },
      kind: { enum: ['a', 'b'] },
      count: { type: ['integer', 'null'], minimum: 3 },
      child: { $ref: '#/components/schemas/Node' },
      tags: { type: 'array', items: { type: 'string' } },
      optional: { type: 'string' },
    },
  }
  const value = sampleValue(node, new Map([['Node', node]])) as Record<string, unknown>
  assert.deepEqual(Object.keys(value), ['name', 'kind', 'count', 'child', 'tags'])
  assert.deepEqual([value.name, value.kind, value.count, value.tags], ['name', 'a', 3, []])
  assert.ok(JSON.stringify(value).length < 2_000)
})

test('a short example is shown as it is, a long one by its outline', () => {
  const short = { id: 1, deep: { deep: { deep: { deep: [1, 2] } } } }
  assert.deepEqual(JSON.parse(exampleText(short).text), short)
  const items = Array.from({ length: 40 }, () => short)
  assert.deepEqual(exampleText(items), {
    text: '[\n  {\n    "id": 1,\n    "deep": {\n      "deep": { … }\n    }\n  },\n  …\n]',
    isShortened: true,
  })
})
