import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RouteAccess } from '#access/authorization/enforce.ts'
import { referencePage } from './page.ts'

const HOSTILE = `<script>alert("1")</script> & 'more'`

const DOCUMENT = {
  info: { title: HOSTILE, version: '1.2.3', summary: HOSTILE, description: 'Send `Authorization`.' },
  servers: [{ url: `https://gantry.example.com/${HOSTILE}` }],
  tags: [
    { name: 'Hooks', description: HOSTILE },
    { name: 'Accounts', description: 'Logging in.' },
  ],
  paths: {
    '/hooks/{id}': {
      parameters: [{ $ref: '#/components/parameters/Id' }],
      get: {
        tags: ['Hooks'],
        operationId: 'readHook',
        summary: 'Read a hook',
        description: `${HOSTILE}\n\nIn two paragraphs.`,
        parameters: [
          {
            name: HOSTILE,
            in: 'query',
            schema: { type: 'string', enum: ['a', HOSTILE], description: HOSTILE },
          },
        ],
        responses: {
          200: {
            description: 'Success',
            headers: { ETag: { description: HOSTILE } },
            content: {
              'application/json': {
                schema: { $ref: '#/components/schemas/Hook' },
                example: { id: 1, text: HOSTILE },
              },
            },
          },
          404: { $ref: '#/components/responses/NotFound' },
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
          required: true,
          content: {
            'application/json': {
              schema: { $ref: '#/components/schemas/LoginInput' },
            },
          },
        },
        responses: { 204: { description: 'Done' } },
      },
    },
  },
  components: {
    parameters: { Id: { name: 'id', in: 'path', required: true, schema: { type: 'integer', minimum: 1 } } },
    responses: { NotFound: { description: HOSTILE } },
    schemas: {
      LoginInput: {
        type: 'object',
        required: ['email'],
        properties: {
          email: { type: 'string', minLength: 1, maxLength: 255, default: HOSTILE },
          [HOSTILE]: { type: ['string', 'null'], format: HOSTILE, pattern: HOSTILE },
          list: {
            type: 'array',
            maxItems: 5,
            items: { type: 'object', properties: { inner: { type: 'boolean' } } },
          },
        },
      },
      Hook: {
        type: 'object',
        required: ['id'],
        properties: {
          id: { anyOf: [{ type: 'integer' }, { type: 'null' }] },
          parent: { anyOf: [{ $ref: '#/components/schemas/Hook' }, { type: 'null' }] },
          labels: {
            type: 'object',
            additionalProperties: { type: ['string', 'array'], items: { type: 'integer' } },
          },
        },
      },
    },
  },
}

const ACCESS: RouteAccess[] = [
  {
    method: 'GET',
    url: '/hooks/:id',
    access: { kind: 'permissions', of: 'hook request', param: 'id', needs: ['hook:view', 'replay'] },
    token: 'read',
  },
  { method: 'POST', url: '/login', access: { kind: 'public' }, token: null },
]

const page = referencePage(DOCUMENT, ACCESS, ['main.js'])

/** What a reader sees, without the tags. */
const textOf = (html: string) => html.replaceAll(/<[^>]+>/g, '').replaceAll(/\s+/g, ' ')

test('every operation is on the page, with its path, and is linked from the contents', () => {
  for (const [id, method, path] of [
    ['readHook', 'GET', '/hooks/{id}'],
    ['logIn', 'POST', '/login'],
  ]) {
    assert.ok(page.includes(`<article id="${id}" class="operation" data-method="${method}"`))
    assert.ok(page.includes(`<li><a href="#${id}">`))
    assert.ok(textOf(page).includes(`${method} ${path}`))
  }
})

test('parameters, fields, limits, responses and schemas are described, referenced ones too', () => {
  const text = textOf(page)
  for (const expected of [
    'id integer required at least 1',
    'email string required 1–255 characters default',
    'list array of object at most 5 items',
    'inner boolean',
    '200 Success Hook',
    'id integer nullable',
    'parent Hook optional nullable',
    'labels map of string or array of integer optional',
    'Send Authorization.',
    'In two paragraphs.',
  ]) {
    assert.ok(text.includes(expected), expected)
  }
  assert.ok(page.includes('<article id="schema-Hook" class="schema">'))
  const [, logIn] = page.split('<article id="logIn"')
  assert.match(
    logIn!.split('</article>')[0]!,
    /<h4 class="body" id="schema-LoginInput">/,
    'described where it is used',
  )
  assert.ok(page.includes('<details data-schema="Hook">'), 'a schema inside of itself unfolds on demand')
})

test('every operation names the permission and the token scope that it needs', () => {
  const [read, logIn] = page.split('<article id="logIn"')
  assert.match(
    textOf(read!),
    /Permission ?hook:view and pipeline:run for a call, hook:edit for a delivery ?Token scope ?read/,
  )
  assert.match(textOf(logIn!), /Permission ?none: public/)
})

test('an operation has curl and TypeScript, and the example of the document', () => {
  const text = textOf(page)
  assert.match(text, /curl 'https:.* -H "Authorization: Bearer \$GANTRY_TOKEN"/)
  assert.match(
    text,
    /const hook = await gantry\.get\('\/hooks\/\{id\}', \{ params: \{ path: \{ id: 1 \} \}, \}\)/,
  )
  assert.match(text, /Response 200\s*\{ "id": 1/)
})

test('the page has no inline script or style and no external resources', () => {
  assert.doesNotMatch(page, /<script(?! (type="module" )?src="\/docs\/[\w-]+\.js"><\/script>)/i)
  assert.doesNotMatch(page, /<style|\sstyle=|\son\w+=/i)
  const addresses = [...page.matchAll(/(?:href|src)="([^"]*)"/g)].map(([, address]) => address!)
  assert.ok(addresses.every((address) => /^(#|\/|data:image\/svg\+xml,%3Csvg)/.test(address)))
})

test('every text of the document is escaped', () => {
  assert.equal(page.includes('<script>alert'), false)
  assert.ok(page.includes('&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt; &amp;'))
})

test('every opened element is closed, in order', () => {
  assert.ok(page.startsWith('<!doctype html>\n<html lang="en">'))
  const alone = new Set(['meta', 'link', '!doctype', 'wbr'])
  const open: string[] = []
  for (const [, closing, name] of page.matchAll(/<(\/?)([!a-z][a-z0-9]*)[^>]*>/gi)) {
    if (alone.has(name!)) continue
    if (closing) assert.equal(open.pop(), name)
    else open.push(name!)
  }
  assert.deepEqual(open, [])
})

test('no two elements have the same id, and every link on the page has its target', () => {
  const ids = [...page.matchAll(/\sid="([^"]*)"/g)].map(([, id]) => id!)
  assert.equal(new Set(ids).size, ids.length)
  for (const [, target] of page.matchAll(/href="#([^"]*)"/g)) assert.ok(ids.includes(target!), target!)
})

test('an empty document is an empty page', () => {
  assert.match(referencePage({ info: { title: 'Gantry', version: '1' } }, []), /<h1>Gantry API/)
})
