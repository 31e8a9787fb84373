// The locks of a migration, while others work. Their transactions take locks in another order, so waiting for one table
// while holding another ends in deadlocks, and PostgreSQL may choose to end the work of somebody else.
import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Transaction } from './connect.ts'

const GIVES_UP_MS = 300_000
const LONGEST_WAIT_MS = 400
const LOCK_ERRORS = ['55P03', '40P01', '57014']

/**
 * Takes all of them at once or none. Only the first is waited for, while none is held: a transaction without locks is
 * part of no deadlock. Attempts are brief and frequent, so that nobody waits long behind one; every other one does not wait at all,
 * so that nobody who holds another table queues up behind it. They are held to the end of the transaction.
 */
export async function lockTables(
  trx: Transaction,
  [first, ...others]: readonly string[],
  say: (message: string) => void,
): Promise<void> {
  if (first === undefined) return
  const deadline = performance.now() + GIVES_UP_MS
  const lock = (name: string, nowait: boolean) =>
    sql`lock table ${sql.table(name)} in access exclusive mode ${sql.raw(nowait ? 'nowait' : '')}`.execute(
      trx,
    )
  for (let attempt = 1; ; attempt += 1) {
    const limit = Math.ceil(Math.min(20 * attempt, LONGEST_WAIT_MS) * (0.5 + Math.random() / 2))
    await sql`savepoint locks`.execute(trx)
    try {
      await sql`select set_config('statement_timeout', ${String(limit)}, true)`.execute(trx)
      await lock(first, attempt % 2 === 1)
      await sql`select set_config('statement_timeout', '0', true)`.execute(trx)
      for (const name of others) await lock(name, true)
      return
    } catch (error) {
      const { code = '', message } = error as { code?: string; message: string }
      if (!LOCK_ERRORS.includes(code) || performance.now() > deadline) throw error
      if (attempt === 20)
        say(`Waiting for locks on ${[first, ...others].join(', ')} (${message}); trying again`)
      await sql`rollback to savepoint locks`.execute(trx)
    }
    await delay(20 + Math.random() * 80)
  }
}
