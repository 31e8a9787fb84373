// The form of every error response.
import assert from 'node:assert/strict'
import { ERROR_CODES, type ErrorCode } from '#platform/http/errors.ts'
import type { Answer } from './harness.ts'

/** The form of the contract, without internal details of the service. */
export function assertRefused(
  answer: Answer,
  code: ErrorCode,
  errors: Record<string, string[]> | null = null,
): void {
  assert.equal(answer.status, ERROR_CODES[code], answer.text)
  assert.deepEqual(Object.keys(answer.body), ['message', 'errors', 'code', 'request_id'])
  assert.equal(answer.body.code, code)
  assert.ok(answer.body.message.length > 0)
  assert.deepEqual(answer.body.errors, errors)
  assert.match(answer.body.request_id, /^[0-9a-f-]{36}$/)
  assert.equal(answer.headers['x-request-id'], answer.body.request_id)
  assert.match(answer.headers['content-type']!, /^application\/json/)
  assert.doesNotMatch(answer.text, /node_modules|\.ts\b|file:|\bat \w+ \(|\bselect\b|\brelation\b/i)
}

/** As above, for validation errors whose messages are tested elsewhere. */
export function assertInvalid(answer: Answer, ...fields: string[]): void {
  assertRefused(answer, 'invalid', answer.body.errors)
  assert.deepEqual(Object.keys(answer.body.errors).sort(), fields.sort())
}
