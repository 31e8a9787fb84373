import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cut, fit, pad, widthOf } from '#cli/table.ts'

test('a table that is too wide first shrinks its widest column, then drops its last', () => {
  assert.deepEqual(fit([3, 9, 40], 100), [3, 9, 40])
  assert.deepEqual(fit([3, 9, 40], 40), [3, 9, 24])
  assert.deepEqual(fit([3, 9, 40, 14, 13], 40), [3, 9, 24])
  assert.deepEqual(fit([50], 40), [40])
})

test('of a path the end is kept, of other text the beginning', () => {
  assert.equal(cut('shop/production/web', 12), '…duction/web')
  assert.equal(cut('Cancelled by somebody', 12), 'Cancelled b…')
  assert.equal(cut('web', 12), 'web')
})

test('wide characters take two cells, marks none of their own', () => {
  assert.equal(widthOf('発売'), 4)
  assert.equal(widthOf('e\u0301'), 1)
  assert.equal(cut('発売発売', 5), '発売…')
  assert.equal(pad('発', 4), '発  ')
})
