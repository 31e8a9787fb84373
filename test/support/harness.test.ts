import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createAnswerCheck } from './harness.ts'

const response = (schema: object) => ({ description: 'ok', content: { 'application/json': { schema } } })
const check = createAnswerCheck({
  swagger: () =>
    ({
      openapi: '3.1.0',
      paths: {
        '/rooms/{id}': {
          get: { responses: { 200: response({ type: 'object', required: ['id'] }) } },
          delete: { responses: { 204: { description: 'Removed' } } },
        },
        '/rooms/all': { get: { responses: { 202: response({ type: 'array' }) } } },
      },
      components: { schemas: { Error: { type: 'object', required: ['message'] } } },
    }) as never,
})
const answer = (status: number, body: unknown) => ({ status, body, headers: {}, text: '' })

test('a response that fits its schema passes', () => {
  check('GET', '/rooms/7?full=true', answer(200, { id: 7 }))
  check('GET', '/rooms/all', answer(202, []))
})

test('a response that breaks its schema fails', () => {
  assert.throws(() => check('GET', '/rooms/7', answer(200, {})), /breaks its schema/)
})

test('a successful JSON response that the document does not describe fails', () => {
  const undescribed = /does not describe/
  assert.throws(() => check('GET', '/cellar', answer(200, {})), undescribed, 'an unknown path')
  assert.throws(() => check('POST', '/rooms/7', answer(201, {})), undescribed, 'an unknown method')
  assert.throws(() => check('GET', '/rooms/7', answer(203, { id: 7 })), undescribed, 'an unknown status')
  assert.throws(
    () => check('DELETE', '/rooms/7', answer(204, {})),
    /describes no JSON/,
    'a status without JSON',
  )
})

test('an error that the document does not describe must still be an Error', () => {
  check('POST', '/rooms/7', answer(405, { message: 'no' }))
  assert.throws(() => check('POST', '/rooms/7', answer(405, {})), /breaks its schema/)
})
