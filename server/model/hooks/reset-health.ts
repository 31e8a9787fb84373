import { sql } from 'kysely'
import type { Transaction } from '#platform/database/connect.ts'

/**
 * Another URL is another receiver: the health of the last one says nothing about it. A row that is being written
 * right now stays: its writer may be about to switch off the same hook, and would wait for us.
 */
export async function resetHealth(trx: Transaction, hookId: string): Promise<void> {
  await sql`
    delete from hook_health where hook_id in (
      select hook_id from hook_health where hook_id = ${hookId} for update skip locked)`.execute(trx)
}
