import assert from 'node:assert/strict'
import { test } from 'node:test'
import { migrationNames } from '#platform/database/migrate.ts'
import { compareSchemas } from './schema-version.ts'

test('tables of the same or an earlier version fit', () => {
  assert.deepEqual(compareSchemas(['1', '2'], ['1', '2']), { kind: 'fits' })
  assert.deepEqual(compareSchemas(['1'], ['1', '2']), { kind: 'fits' })
})

test('tables of a later version are newer', () => {
  assert.deepEqual(compareSchemas(['1', '2', '3'], ['1', '2']), { kind: 'newer' })
})

test('tables with another history, or none, are foreign', () => {
  assert.deepEqual(compareSchemas(['1', 'x'], ['1', '2']), { kind: 'foreign' })
  assert.deepEqual(compareSchemas(['1', 'x', '3'], ['1', '2']), { kind: 'foreign' })
  assert.deepEqual(compareSchemas([], ['1', '2']), { kind: 'foreign' })
})

test('our own migrations are known in their order', async () => {
  const known = await migrationNames()
  assert.equal(known[0], '0001-ground-floor')
  assert.deepEqual(known, known.toSorted())
})
