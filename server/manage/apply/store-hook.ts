import type { Transaction } from 'kysely'
import type { HookChange } from '#manage/hooks/hook-columns.ts'
import { changeHook, createHook, type HookOutcome, type NewHook } from '#manage/hooks/manage-hooks.ts'
import type { HookRow } from '#model/hooks/present-hook.ts'
import type { Tables } from '#platform/database/tables.ts'
import type { HttpProblem } from '#platform/http/problems.ts'
import type { ErrorsByField } from '#platform/http/validation.ts'
import type { Performing } from './perform.ts'
import type { Task } from './plan.ts'
import { keyOf } from './things.ts'

export type StoredHook =
  /** `secret`: one that was made just now; a secret that the document gives is not told again. */
  { kind: 'done'; id: string; row: HookRow; secret: string | null; isNew: boolean } | HttpProblem

type Save = Extract<Task, { verb: 'create' | 'change' }>

/** Makes or changes a hook. `receiver`: what is wrong with the address that it is to call. */
export async function storeHook(
  trx: Transaction<Tables>,
  by: Performing,
  task: Save,
  receiver: ErrorsByField | undefined,
): Promise<StoredHook> {
  const { wanted } = task
  const type = wanted.path.at(-2) as 'incoming' | 'outgoing'
  const deps = { box: by.box, actor: by.actor, receiver }
  if (task.verb === 'create') {
    const pipelineId = Number(by.ids.get(keyOf(wanted.path.slice(0, -3))))
    const wish = { type, body: { name: wanted.name, ...wanted.body } } as NewHook
    const given = 'secret' in wanted.body && wanted.body.secret !== undefined
    return toStored(await createHook(trx, deps, pipelineId, by.caller, wish), { isNew: true, given })
  }
  const changed = new Set(task.fields.map(({ field }) => field))
  const body = Object.fromEntries(Object.entries(wanted.body).filter(([field]) => changed.has(field)))
  const outcome = await changeHook(trx, deps, String(task.stored!.id), by.caller, {
    type,
    body,
  } as HookChange)
  return toStored(outcome, { isNew: false, given: false })
}

function toStored(outcome: HookOutcome, { isNew, given }: { isNew: boolean; given: boolean }): StoredHook {
  if (outcome.kind !== 'done') return outcome
  const { row, secret } = outcome
  return { kind: 'done', id: row.id, row, secret: given ? null : (secret ?? null), isNew }
}
