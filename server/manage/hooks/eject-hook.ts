import type { Actor } from '#access/audit/record.ts'
import { presetRequest } from '#model/hooks/present-hook.ts'
import type { Transaction } from '#platform/database/connect.ts'
import { updateRow } from '#platform/database/rows.ts'
import { conflict, GONE } from '#platform/http/problems.ts'
import { checkRepository } from './check-token.ts'
import { requestOf } from './hook-columns.ts'
import { auditHook } from './manage-hooks.ts'
import { findHook } from './read-hooks.ts'

/** Makes a hook with a preset an ordinary one. What it sends stays the same, and so does its editor. */
export async function ejectHook(trx: Transaction, { id, actor }: { id: string; actor: Actor }) {
  const before = await findHook(trx, 'outgoing', id, { lock: true })
  if (!before) return GONE
  if (before.settings.preset === undefined) return conflict('This hook has no preset.')
  const expanded = presetRequest(before)
  if (!expanded) return conflict('The credential does not fit the preset: give the hook another one first.')
  // An ordinary hook is not bound to the host of its credential.
  const request = requestOf({}, before)
  const unfit = await checkRepository(trx, before.pipeline_id, request)
  if (unfit?.kind === 'invalid')
    return conflict(`The hook cannot send: it ${unfit.errors['settings.preset']}.`, unfit.errors)
  const { conditions = [], ...trigger } = before.trigger_when as { conditions?: unknown[] }
  await updateRow(trx, 'hooks', id, {
    target_url: expanded.target_url,
    settings: JSON.stringify(expanded.settings),
    trigger_when: JSON.stringify({ ...trigger, conditions: [...conditions, ...expanded.conditions] }),
  })
  const row = (await findHook(trx, 'outgoing', id))!
  await auditHook(trx, actor, 'ejected', before, row)
  return { kind: 'done' as const, row }
}
