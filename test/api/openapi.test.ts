import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { openTestApp, TEST_BASE_URL } from '#test/support/harness.ts'
import { type Schema, walkSchemas } from '#test/support/openapi.ts'
import { createPerson, createTestTree, grantRole } from '#test/support/world.ts'

const { app, db, request } = await openTestApp({ after })
const { status, body: document } = await request('GET', '/openapi.json')

type Content = Record<string, { schema: Schema; examples?: Record<string, { value: unknown }> }>
type Operation = {
  operationId?: string
  summary?: string
  tags?: string[]
  security?: unknown[]
  parameters?: { name: string; description?: string; schema: Schema }[]
  requestBody?: { required: boolean; content: Content }
  responses: Record<string, { $ref?: string; description?: string; headers?: object; content?: Content }>
}
const operations = Object.entries<Record<string, Operation>>(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({
    name: `${method.toUpperCase()} ${path}`,
    operation,
  })),
)

test('the document is OpenAPI 3.1 and names the version and the address of the service', () => {
  assert.equal(status, 200)
  assert.equal(document.openapi, '3.1.0')
  assert.equal(document.info.version, '0.0.0-test')
  assert.deepEqual(document.servers, [{ url: TEST_BASE_URL }])
})

test('every route that answers JSON is described', () => {
  const hidden = [
    ...[
      'GET /docs',
      'GET /docs/{file}',
      'GET /docs/guides',
      'GET /docs/guides/*',
      'GET /favicon.ico',
      'GET /app',
      'GET /app/*',
      'GET /session/oidc/callback',
    ],
    ...['GET /cli/install.sh', 'GET /cli/gantry.mjs', 'GET /cli/sha256'],
  ]
  const routes = app.accessTable
    .filter(({ method }) => method !== 'HEAD')
    .map(({ method, url }) => `${method} ${url.replaceAll(/:(\w+)/g, '{$1}')}`)
  assert.deepEqual(
    operations.map(({ name }) => name).sort(),
    routes.filter((name) => !hidden.includes(name)).sort(),
  )
})

test('every operation has a name of its own, a summary and a tag that is explained', () => {
  const names = operations.map(({ operation }) => operation.operationId)
  assert.equal(new Set(names).size, operations.length)
  const tags = document.tags.map(({ name, description }: { name: string; description: string }) => {
    assert.ok(description, name)
    return name
  })
  for (const { name, operation } of operations) {
    assert.match(operation.operationId ?? '', /^[a-z][A-Za-z]+$/, name)
    assert.match(operation.summary ?? '', /^[A-Z].*[^.]$/, name)
    assert.equal(operation.tags?.length, 1, name)
    assert.ok(tags.includes(operation.tags![0]), name)
  }
})

test('every answer is described: one success at least, and errors that all operations share', () => {
  for (const { name, operation } of operations) {
    const [errors, successes] = Object.entries(operation.responses).reduce<[string[], string[]]>(
      ([refs, found], [status, response]) =>
        response.$ref
          ? [
              [
                ...refs,
                `${status} ${document.components.responses[response.$ref.split('/').at(-1)!].description}`,
              ],
              found,
            ]
          : [refs, [...found, `${status} ${response.description}`]],
      [[], []],
    )
    assert.ok(successes.length > 0, name)
    for (const success of successes) assert.match(success, /^[23]\d\d (?!Default Response)[A-Z]/, name)
    for (const error of errors) assert.match(error, /^[45]\d\d [A-Z`]/, name)
    assert.ok(
      errors.some((error) => error.startsWith('500')),
      name,
    )
    const mayHaveBody = /^(POST|PUT)/.test(name)
    assert.equal(
      ['400', '408', '413', '415'].every((status) => status in operation.responses),
      mayHaveBody,
      name,
    )
    assert.equal('414' in operation.responses, name.includes('{'), name)
  }
})

test('every request body is a named schema, and so is every object in an answer', () => {
  for (const { name, operation } of operations) {
    for (const { schema } of Object.values(operation.requestBody?.content ?? {}))
      assert.match(schema.$ref ?? '', /^#\/components\/schemas\/[A-Z]\w+$/, name)
    for (const { content = {} } of Object.values(operation.responses)) {
      for (const { schema } of Object.values(content)) {
        assert.equal((schema.items ?? schema).properties, undefined, name)
      }
    }
  }
})

test('every pattern means the same in other languages: no property escapes, no lookaround, no escapes of JavaScript', () => {
  const portable = /^([^\\(]|\\[dDwWsSnrt.$^*+?()[\]{}|/-]|\\x[0-9a-f]{2}|\((?!\?)|\(\?:)*$/
  const others: string[] = []
  let count = 0
  walkSchemas(document, (schema, path) => {
    assert.equal(schema['x-portable-pattern'], undefined, path)
    for (const { pattern } of [schema, schema.propertyNames ?? {}]) {
      if (pattern === undefined) continue
      count += 1
      new RegExp(pattern)
      if (!portable.test(pattern)) others.push(`${path}: ${pattern}`)
    }
  })
  assert.ok(count > 20)
  assert.deepEqual(others, [])
})

test('a value that may have several types is described by one schema for each of them', () => {
  const mixed: string[] = []
  walkSchemas(document, ({ type }, path) => {
    if ([type].flat().filter((one) => one !== 'null').length > 1) mixed.push(`${path}: ${type}`)
  })
  assert.deepEqual(mixed, [])
  const { expect_status } = document.components.schemas.HealthCheck.properties
  assert.deepEqual(
    expect_status.anyOf.map(({ type }: Schema) => type),
    ['integer', 'string'],
  )
})

test('an object says which fields it may have, and an array what it holds', () => {
  walkSchemas(document, (schema, path) => {
    const types = [schema.type].flat()
    if (types.includes('object')) assert.ok('additionalProperties' in schema, path)
    if (types.includes('array')) assert.ok('items' in schema, path)
  })
})

test('every field and every parameter has a description: a sentence', () => {
  const missing: string[] = []
  const check = (description: string | undefined, path: string) => {
    if (!/^[A-Z`0-9].*[.)]$/s.test(description ?? '')) missing.push(`${path}: ${description}`)
  }
  walkSchemas(document, ({ properties = {} }, path) => {
    for (const [name, { description }] of Object.entries<Schema>(properties))
      check(description, `${path}.${name}`)
  })
  for (const { name, operation } of operations) {
    for (const parameter of operation.parameters ?? [])
      check(parameter.description, `${name} ${parameter.name}`)
  }
  assert.deepEqual(missing, [])
})

test('every schema is valid JSON Schema, which nobody checks at a start', () => {
  const ajv = new Ajv2020({ strict: false })
  const invalid: string[] = []
  const check = (name: string, schema: Schema) => {
    if (!ajv.validateSchema(schema)) invalid.push(`${name}: ${ajv.errorsText()}`)
  }
  for (const [name, schema] of Object.entries<Schema>(document.components.schemas)) check(name, schema)
  for (const { name, operation } of operations) {
    for (const { schema } of operation.parameters ?? []) check(name, schema)
    for (const { content = {} } of [operation.requestBody ?? {}, ...Object.values(operation.responses)])
      for (const { schema } of Object.values(content)) check(name, schema)
  }
  assert.deepEqual(invalid, [])
})

test('every example is valid by its schema', () => {
  const ajv = new Ajv2020({ strict: false, validateSchema: false })
  addFormats.default(ajv)
  ajv.addSchema(document, 'openapi')
  let count = 0
  for (const [path, methods] of Object.entries<Record<string, Operation>>(document.paths)) {
    for (const [method, { requestBody, responses }] of Object.entries(methods)) {
      for (const { content = {} } of [requestBody ?? {}, ...Object.values(responses)]) {
        for (const { schema, examples = {} } of Object.values(content)) {
          const inDocument = JSON.parse(
            JSON.stringify(schema).replaceAll('"#/components', '"openapi#/components'),
          )
          for (const { value } of Object.values(examples)) {
            count += 1
            assert.ok(ajv.validate(inDocument, value), `${method} ${path}: ${ajv.errorsText()}`)
          }
        }
      }
    }
  }
  assert.ok(count > operations.length)
})

test('every list that has pages tells how many items and pages there are', () => {
  const lists = operations.filter(({ operation }) =>
    operation.parameters?.some(({ name }) => name === 'page'),
  )
  assert.ok(lists.length > 20)
  for (const { name, operation } of lists) {
    assert.deepEqual(
      operation.responses['200']!.headers,
      {
        Link: { $ref: '#/components/headers/Link' },
        'X-Total-Count': { $ref: '#/components/headers/X-Total-Count' },
      },
      name,
    )
  }
})

test('answers that are not JSON are described with the type that they have', async () => {
  const { id, token } = await createPerson(db, { admin: true })
  const tree = await createTestTree(db)
  await grantRole(db, id, 'owner', { organizationId: tree.organizationId })
  const { body: project } = await request('GET', `/projects/${tree.projectId}`, { token })
  const urls = {
    '/metrics': '/metrics',
    '/audit/export': '/audit/export',
    '/organizations/{id}/audit/export': `/organizations/${tree.organizationId}/audit/export`,
    '/organizations/{id}/export': `/organizations/${tree.organizationId}/export?project=${encodeURIComponent(project.name)}`,
  }
  for (const [path, url] of Object.entries(urls)) {
    const { status, headers, text } = await request('GET', url, { token })
    assert.equal(status, 200, text)
    const { content } = document.paths[path].get.responses['200']
    assert.deepEqual([headers['content-type']!.split(';')[0]], Object.keys(content), path)
  }
  const others = operations.flatMap(({ name, operation }) =>
    Object.values(operation.responses).flatMap(({ content = {} }) =>
      Object.keys(content).flatMap((type) => (type === 'application/json' ? [] : `${name} ${type}`)),
    ),
  )
  assert.deepEqual(others.sort(), [
    'GET /actions/stream text/event-stream',
    'GET /actions/{id}/stream text/event-stream',
    'GET /audit/export application/x-ndjson',
    'GET /hooks/outgoing/{hook_id}/stream text/event-stream',
    'GET /metrics text/plain',
    'GET /organizations/{id}/audit/export application/x-ndjson',
    'GET /organizations/{id}/export application/yaml',
  ])
})

test('an operation is described as open when, and only when, it needs no token', () => {
  for (const { name, operation } of operations) {
    const [method, path] = name.split(' ')
    const route = app.accessTable.find(
      (one) => one.method === method && one.url === path!.replaceAll(/\{(\w+)\}/g, ':$1'),
    )
    assert.equal(operation.security?.length === 0, route?.access.kind === 'public', name)
    if (route?.access.kind !== 'public') assert.ok(operation.responses['401'], `${name} can be 401`)
    if (route?.access.kind === 'permissions') assert.ok(operation.responses['404'], `${name} can be 404`)
  }
})
