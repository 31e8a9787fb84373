import { sql, type Transaction } from 'kysely'
import type { HookRow } from '#model/hooks/present-hook.ts'
import type { Tables } from '#platform/database/tables.ts'

/**
 * Another address is another receiver: how the last one was doing says nothing about it. A note that is being
 * written at this moment stays: whoever writes it may be about to switch off this very hook, and would wait for us.
 */
export async function forgetHealthWhenMoved(
  trx: Transaction<Tables>,
  hook: HookRow,
  targetUrl: string | undefined,
): Promise<void> {
  if (targetUrl === undefined || targetUrl === hook.target_url) return
  await sql`
    delete from hook_health where hook_id in (
      select hook_id from hook_health where hook_id = ${hook.id} for update skip locked)`.execute(trx)
}
