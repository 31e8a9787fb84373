import assert from 'node:assert/strict'
import { test } from 'node:test'
import { referencePage, referenceStyle } from './reference.ts'

const HOSTILE = `<script>alert("1")</script> & 'more'`

const DOCUMENT = {
  info: { title: HOSTILE, version: '1.2.3', summary: HOSTILE, description: 'Send `Authorization`.' },
  tags: [
    { name: 'Hooks', description: HOSTILE },
    { name: 'Accounts', description: 'Logging in.' },
  ],
  paths: {
    '/hooks/{id}': {
      get: {
        tags: ['Hooks'],
        operationId: 'readHook',
        summary: 'Read a hook',
        description: HOSTILE,
        parameters: [
          { name: 'id', in: 'path', required: true, schema: { type: 'integer', minimum: 1 } },
          {
            name: HOSTILE,
            in: 'query',
            schema: { type: 'string', enum: ['a', HOSTILE], description: HOSTILE },
          },
        ],
        responses: {
          200: {
            description: 'Success',
            content: { 'application/json': { schema: { $ref: '#/components/schemas/Hook' } } },
          },
          404: { description: HOSTILE },
        },
      },
    },
    '/login': {
      post: {
        tags: ['Accounts'],
        operationId: 'logIn',
        summary: HOSTILE,
        security: [],
        requestBody: {
          content: {
            'application/json': {
              schema: {
                type: 'object',
                required: ['email'],
                properties: {
                  email: { type: 'string', minLength: 1, maxLength: 255, default: HOSTILE },
                  [HOSTILE]: { type: ['string', 'null'], format: HOSTILE },
                  list: {
                    type: 'array',
                    items: { type: 'object', properties: { inner: { type: 'boolean' } } },
                  },
                },
              },
            },
          },
        },
        responses: { 204: { description: 'Done' } },
      },
    },
  },
  components: {
    schemas: {
      Hook: { type: 'object', properties: { id: { anyOf: [{ type: 'integer' }, { type: 'null' }] } } },
    },
  },
}

const page = referencePage(DOCUMENT)

test('every operation is on the page, with its path, and is linked from the contents', () => {
  for (const [id, method, path] of [
    ['readHook', 'GET', '/hooks/{id}'],
    ['logIn', 'POST', '/login'],
  ]) {
    assert.ok(page.includes(`<article id="${id}">`))
    assert.ok(page.includes(`<a href="#${id}">`))
    assert.ok(page.includes(`>${method}</b> <code>${path}</code>`))
  }
})

test('parameters, fields, responses and schemas are described', () => {
  for (const text of [
    '<td><code>id</code> <em>required</em></td><td>path</td><td>integer, 1–</td>',
    '<td><code>email</code> <em>required</em></td><td>string, 1–255, default <code>',
    '<td><code>inner</code></td><td>boolean</td>',
    '<td><code>200</code></td><td><a href="#schema-Hook">Hook</a></td><td>Success</td>',
    '<article id="schema-Hook">',
    'integer or null',
    '<span class="open">no token required</span>',
    'Send <code>Authorization</code>.',
  ]) {
    assert.ok(page.includes(text), text)
  }
})

test('the page has no scripts and no external resources', () => {
  assert.doesNotMatch(page, /<script/i)
  assert.doesNotMatch(page, /\son\w+=/i)
  const addresses = [...page.matchAll(/(?:href|src)="([^"]*)"/g)].map(([, address]) => address!)
  assert.ok(addresses.every((address) => address.startsWith('#') || address.startsWith('/')))
  assert.doesNotMatch(referenceStyle, /url\(|@import/)
})

test('every text of the document is escaped', () => {
  assert.equal(page.includes('<script>alert'), false)
  assert.ok(page.includes('&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt; &amp;'))
})

test('every opened element is closed, in order', () => {
  assert.ok(page.startsWith('<!doctype html>\n<html lang="en">'))
  const alone = new Set(['meta', 'link', '!doctype'])
  const open: string[] = []
  for (const [, closing, name] of page.matchAll(/<(\/?)([!a-z][a-z0-9]*)[^>]*>/gi)) {
    if (alone.has(name!)) continue
    if (closing) assert.equal(open.pop(), name)
    else open.push(name!)
  }
  assert.deepEqual(open, [])
})

test('no two elements have the same id', () => {
  const ids = [...page.matchAll(/\sid="([^"]*)"/g)].map(([, id]) => id)
  assert.equal(new Set(ids).size, ids.length)
})

test('an empty document is an empty page', () => {
  assert.match(referencePage({ info: { title: 'Gantry', version: '1' } }), /<h1>Gantry<\/h1>/)
})
