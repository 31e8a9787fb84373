// The locks of a migration, while others work. Their transactions take locks in another order, so waiting for one table
// while holding another ends in deadlocks, and PostgreSQL may choose to end the work of somebody else.
import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Transaction } from './connect.ts'

const GIVES_UP_MS = 300_000
/** Far below `deadlock_timeout`, whose default is one second. */
const LONGEST_ATTEMPT_MS = 400
const LOCK_ERRORS = ['55P03', '40P01', '57014']

/**
 * Takes all of them at once or none: briefly and often, a little longer each time, so that nobody waits long behind an
 * attempt. They are held to the end of the transaction.
 */
export async function lockTables(
  trx: Transaction,
  tables: readonly string[],
  say: (message: string) => void,
): Promise<void> {
  if (tables.length === 0) return
  const deadline = performance.now() + GIVES_UP_MS
  const names = sql.join(tables.map((name) => sql.table(name)))
  for (let attempt = 1; ; attempt += 1) {
    const limit = Math.min(20 * attempt, LONGEST_ATTEMPT_MS) * (0.5 + Math.random() / 2)
    await sql`savepoint locks`.execute(trx)
    try {
      await sql`select set_config('statement_timeout', ${String(Math.ceil(limit))}, true)`.execute(trx)
      await sql`lock table ${names} in access exclusive mode`.execute(trx)
      await sql`select set_config('statement_timeout', '0', true)`.execute(trx)
      return
    } catch (error) {
      const { code = '', message } = error as { code?: string; message: string }
      if (!LOCK_ERRORS.includes(code) || performance.now() > deadline) throw error
      if (attempt === 10) say(`Waiting for locks on ${tables.join(', ')} (${message}); trying again`)
      await sql`rollback to savepoint locks`.execute(trx)
    }
    await delay(50 + Math.random() * 150)
  }
}
