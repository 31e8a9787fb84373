import assert from 'node:assert/strict'
import { test } from 'node:test'
import { migrationNames } from '#platform/database/migrate.ts'
import { compareSchemas } from './check-restore.ts'

test('tables of the same or an earlier version are compatible', () => {
  assert.equal(compareSchemas(['1', '2'], ['1', '2']), 'compatible')
  assert.equal(compareSchemas(['1'], ['1', '2']), 'compatible')
})

test('tables of a later version are newer', () => {
  assert.equal(compareSchemas(['1', '2', '3'], ['1', '2']), 'newer')
})

test('tables with another history, or none, are unrelated', () => {
  assert.equal(compareSchemas(['1', 'x'], ['1', '2']), 'unrelated')
  assert.equal(compareSchemas(['1', 'x', '3'], ['1', '2']), 'unrelated')
  assert.equal(compareSchemas([], ['1', '2']), 'unrelated')
})

test('our own migrations are listed in order', async () => {
  const known = migrationNames()
  assert.equal(known[0], '0001-ground-floor')
  assert.deepEqual(known, known.toSorted())
})
