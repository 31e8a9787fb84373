import type { KnownNames } from '#access/authorization/known-names.ts'
import { type HookRow, hookSecretAad, selectHooks, urlTokenAad } from '#model/hooks/present-hook.ts'
import type { SecretBox } from '#platform/crypto/secret-box.ts'
import type { Database } from '#platform/database/connect.ts'
import { anyContains } from '#platform/database/contains.ts'
import { findRow } from '#platform/database/rows.ts'
import type { HookType } from '#platform/database/tables.ts'
import type { Extent, Page } from '#platform/http/pagination.ts'

export function findHook(db: Database, type: HookType, id: string, { lock = false } = {}) {
  return selectHooks(db)
    .where('hooks.id', '=', id)
    .where('hooks.type', '=', type)
    .$if(lock, (query) => query.forUpdate('hooks'))
    .executeTakeFirst()
}

export type HookFilters = {
  type?: HookType
  active?: boolean
  /** Part of its name, or of one that it belongs to. */
  search?: { text: string; names: KnownNames }
}

/** The hooks of a pipeline or an environment, newest first. */
export async function listHooks(
  db: Database,
  of: { column: 'pipeline_id' | 'environment_id'; id: number },
  { type, active, search }: HookFilters,
  { limit, offset }: Page,
): Promise<{ rows: HookRow[]; extent: Extent }> {
  const query = selectHooks(db)
    .where(`hooks.${of.column}`, '=', of.id)
    .$if(search !== undefined, (hooks) =>
      hooks.where(anyContains(['hooks.name', ...namesAbove(search!)], search!.text)),
    )
    .$if(type !== undefined, (hooks) => hooks.where('hooks.type', '=', type!))
    .$if(active !== undefined, (hooks) => hooks.where('hooks.active', '=', active!))
  const rows = await query
    .select(({ fn }) => fn.countAll<number>().over().as('total'))
    .orderBy('hooks.created_at', 'desc')
    .orderBy('hooks.id')
    .limit(limit)
    .offset(offset)
    .execute()
  // A page past the end has no row to carry the total.
  const total = rows[0]?.total ?? (offset === 0 ? 0 : (await query.execute()).length)
  return { rows, extent: { total, hasMore: offset + rows.length < total && rows.length > 0 } }
}

/** The columns with those that the caller may know. */
function namesAbove({ names }: NonNullable<HookFilters['search']>): string[] {
  return (['pipeline', 'application', 'server'] as const).flatMap((type) =>
    names[type] ? [`${type}s.name`] : [],
  )
}

/** Every secret of a hook as text, for code that must mask them elsewhere. */
export async function loadHookSecrets(db: Database, box: SecretBox, hookId: string): Promise<string[]> {
  const hook = await findRow(db, 'hooks', { id: hookId }, ['secret', 'previous_secret', 'url_token'])
  const sealed = [
    { value: hook?.secret, aad: hookSecretAad(hookId) },
    { value: hook?.previous_secret, aad: hookSecretAad(hookId) },
    { value: hook?.url_token, aad: urlTokenAad(hookId) },
  ]
  return sealed.flatMap(({ value, aad }) => (value ? [box.open(value, aad)] : []))
}
