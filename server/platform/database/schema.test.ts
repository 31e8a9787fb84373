import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { compareReleases } from '#platform/version.ts'
import { pendingMigrations } from './schema.ts'

const KNOWN = ['0001-a', '0002-b', '0003-c']
const executed = (...names: string[]) => names.map((name) => ({ name, tolerated_by: '0.1.0' }))

describe('the migrations of a database', () => {
  test('that are missing are pending, in order, also between others', () => {
    assert.deepEqual(pendingMigrations([], KNOWN, '0.2.0'), KNOWN)
    assert.deepEqual(pendingMigrations(executed('0001-a', '0003-c'), KNOWN, '0.2.0'), ['0002-b'])
    assert.deepEqual(pendingMigrations(executed(...KNOWN), KNOWN, '0.2.0'), [])
  })

  test('of a newer release are accepted by every release that tolerates them', () => {
    const newer = [...executed(...KNOWN), { name: '0004-d', tolerated_by: '0.2.0' }]
    assert.deepEqual(pendingMigrations(newer, KNOWN, '0.2.0'), [])
    assert.deepEqual(pendingMigrations(newer, KNOWN, '0.2.1'), [])
    assert.throws(() => pendingMigrations(newer, KNOWN, '0.1.9'), {
      message:
        'This database belongs to a newer Gantry than this one (0.1.9). It has the migration 0004-d. Start Gantry 0.2.0 or later, or restore a backup that this release made.',
    })
  })

  test('name the newest of the releases that they need', () => {
    const newer = [
      { name: '0004-d', tolerated_by: '0.10.0' },
      { name: '0005-e', tolerated_by: '0.9.0' },
    ]
    assert.throws(
      () => pendingMigrations(newer, KNOWN, '0.2.0'),
      /migration 0005-e\. Start Gantry 0\.10\.0 or later/,
    )
  })

  test('that nobody vouches for are not accepted', () => {
    const unknown = [{ name: '0004-d', tolerated_by: null }]
    assert.throws(() => pendingMigrations(unknown, KNOWN, '9.0.0'), /Start the release that migrated it/)
  })
})

test('releases are compared by their numbers', () => {
  const sorted = ['0.10.0', '0.2.0', '1.0.0', '0.2.1-rc.1'].sort(compareReleases)
  assert.deepEqual(sorted, ['0.2.0', '0.2.1-rc.1', '0.10.0', '1.0.0'])
  assert.equal(compareReleases('1.2.3', '1.2.3-dev'), 0)
})
