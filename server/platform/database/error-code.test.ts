import assert from 'node:assert/strict'
import { test } from 'node:test'
import { codeOf, reasonOf } from './error-code.ts'

const failed = (code: string) => Object.assign(new Error('failed'), { code })

test('the code of an error is its own, or that of what caused it', () => {
  assert.equal(codeOf(failed('53100')), '53100')
  assert.equal(codeOf(new Error('outer', { cause: new Error('inner', { cause: failed('57P01') }) })), '57P01')
  assert.equal(codeOf(new AggregateError([failed('ECONNREFUSED'), failed('ETIMEDOUT')])), 'ECONNREFUSED')
  for (const other of [new Error('none'), 'text', null, undefined]) assert.equal(codeOf(other), null)
})

test('a reason has the message, in one line of the log with the code', () => {
  assert.deepEqual(reasonOf(failed('40P01')), { reason: 'failed', code: '40P01' })
  assert.deepEqual(reasonOf('text'), { reason: 'text', code: null })
})
