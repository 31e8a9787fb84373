import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { sql } from 'kysely'
import { createTestDatabase } from '#test/support/database.ts'
import { openDatabase } from './connect.ts'
import { earlierTransactionsEnd, oldestTransaction } from './earlier-transactions.ts'

const { settings, drop } = await createTestDatabase()
const { db, close } = openDatabase(settings, { onIdleError: () => {} })
after(async () => {
  await close()
  await drop()
})

const oldest = async () => {
  const { rows } = await sql<{ oldest: string | null }>`select ${oldestTransaction} as oldest`.execute(db)
  return rows[0]!.oldest
}

test('a transaction counts until it ends, and later ones do not', async () => {
  assert.equal(await oldest(), null)
  assert.equal(await earlierTransactionsEnd(db, { withinMs: 0 }), true)
  const trx = await db.startTransaction().execute()
  const { rows } = await sql<{ began: string }>`select now() as began`.execute(trx)
  assert.equal(await oldest(), rows[0]!.began)
  assert.equal(await earlierTransactionsEnd(db, { withinMs: 0 }), false)
  const waiting = earlierTransactionsEnd(db, { withinMs: 30_000 })
  await new Promise((resolve) => setTimeout(resolve, 150))
  const later = await db.startTransaction().execute()
  await sql`select now()`.execute(later)
  await trx.commit().execute()
  assert.equal(await waiting, true)
  await later.rollback().execute()
})
