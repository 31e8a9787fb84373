// The locks of a migration, while other processes work. Their transactions take locks in another order, so waiting for one
// table while holding another ends in deadlocks, and PostgreSQL may choose to end their work.
import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Transaction } from './connect.ts'

const GIVES_UP_MS = 300_000
const LONGEST_WAIT_MS = 400
const LOCK_ERRORS = ['55P03', '40P01', '57014']

/**
 * Takes all of them at once or none. Only the first is waited for, while none is held: a transaction without locks is part
 * of no deadlock. Attempts are brief and frequent, so that nobody waits long behind one; every other one does not wait at
 * all, so that nobody who holds another table queues up behind it. They are held to the end of the transaction.
 */
export async function lockTables(
  trx: Transaction,
  tables: readonly string[],
  print: (message: string) => void,
  givesUpMs = GIVES_UP_MS,
): Promise<void> {
  const [first, ...others] = tables
  if (first === undefined) return
  const deadline = performance.now() + givesUpMs
  const lock = (name: string, option: 'nowait' | '') =>
    sql`lock table ${sql.table(name)} in access exclusive mode ${sql.raw(option)}`.execute(trx)
  // One for all attempts: rolling back to it keeps it.
  await sql`savepoint locks`.execute(trx)
  for (let attempt = 1; ; attempt += 1) {
    const limit = Math.ceil(Math.min(20 * attempt, LONGEST_WAIT_MS) * (0.5 + Math.random() / 2))
    try {
      await sql`select set_config('statement_timeout', ${String(limit)}, true)`.execute(trx)
      await lock(first, attempt % 2 === 1 ? 'nowait' : '')
      await sql`select set_config('statement_timeout', '0', true)`.execute(trx)
      for (const name of others) await lock(name, 'nowait')
      return
    } catch (error) {
      const { code = '', message } = error as { code?: string; message: string }
      if (!LOCK_ERRORS.includes(code)) throw error
      const names = tables.join(', ')
      // Without the code of a lock error, which would make the migration start over.
      if (performance.now() > deadline)
        throw new Error(`No locks on ${names} after ${givesUpMs / 1_000} s: ${message}`, { cause: error })
      if (attempt === 20) print(`Waiting for locks on ${names} (${message}); trying again`)
      await sql`rollback to savepoint locks`.execute(trx)
    }
    await delay(20 + Math.random() * 80)
  }
}
