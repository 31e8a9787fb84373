import type { Caller } from '#access/authorization/caller.ts'
import type { OutgoingHookChange } from '#model/hooks/schemas.ts'
import type { AddressGuard } from '#platform/addresses/guard.ts'
import type { Database } from '#platform/database/connect.ts'
import type { TokenTargets } from '#platform/database/tables.ts'
import { GONE, type HttpProblem } from '#platform/http/problems.ts'
import { requestOf } from './hook-columns.ts'
import { checkHook } from './manage-hooks.ts'
import { findHook } from './read-hooks.ts'
import { checkReceiver, checkReceivers } from './validate-hook.ts'
import { targetUrlsOf } from './validate-requests.ts'

/** What a change of an outgoing hook's request would store. */
export type UnsavedRequest = ReturnType<typeof requestOf> & { edited_by: number }

/** What the hook would send if the caller saved this, or why they cannot save it. Saves nothing. */
export async function checkUnsavedRequest(
  { db, guard, tokenTargets }: { db: Database; guard: AddressGuard; tokenTargets: TokenTargets },
  caller: Caller,
  hookId: string,
  body: Pick<OutgoingHookChange, 'target_url' | 'settings' | 'credential_id'>,
): Promise<{ kind: 'valid'; request: UnsavedRequest } | HttpProblem> {
  const stored = await findHook(db, 'outgoing', hookId)
  if (!stored) return GONE
  const receiver = await checkReceivers(targetUrlsOf(body), (url) => checkReceiver(guard, caller, url))
  const pipeline = { id: stored.pipeline_id, operation: stored.operation }
  const problem = await db
    .transaction()
    .execute((trx) =>
      checkHook(trx, { caller, receiver, tokenTargets }, { type: 'outgoing', body }, pipeline, stored),
    )
  return problem ?? { kind: 'valid', request: { ...requestOf(body, stored), edited_by: caller.id } }
}
