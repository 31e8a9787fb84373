import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTestDatabase } from '#test/support/database.ts'
import { createTestTree } from '#test/support/world.ts'
import { openDatabase } from './connect.ts'
import { migrate } from './migrate.ts'

const BEFORE = '0039-unknown-live-releases'

test('applications of an older database ignore submodules, new ones fetch them', async (t) => {
  const { settings, drop } = await createTestDatabase({ empty: true })
  t.after(drop)
  const { db, close } = openDatabase(settings, { onIdleError: () => {} })
  t.after(close)
  await migrate(db, { to: BEFORE })
  const older = await createTestTree(db)
  await migrate(db)
  const newer = await createTestTree(db)
  const rows = await db.selectFrom('applications').select(['id', 'submodules']).orderBy('id').execute()
  assert.deepEqual(rows, [
    { id: older.applicationId, submodules: 'ignore' },
    { id: newer.applicationId, submodules: 'fetch' },
  ])
})
