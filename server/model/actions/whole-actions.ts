import { anyOf } from '#platform/database/any-of.ts'
import type { Database } from '#platform/database/connect.ts'
import { shareLoads } from '#platform/database/share-loads.ts'
import type { ActionRow, TargetRow } from './present.ts'

/** An action with its targets, in their order. */
export type WholeAction = { row: ActionRow; targets: TargetRow[] }

/** Loads actions with their targets; what is not there is left out. Rows that are known are not read again. */
export type LoadWhole = (
  ids: readonly number[],
  known: ReadonlyMap<number, ActionRow>,
) => Promise<WholeAction[]>

/** Two statements for any number of actions. */
export async function loadWhole(
  db: Database,
  ids: readonly number[],
  known: ReadonlyMap<number, ActionRow> = new Map(),
): Promise<WholeAction[]> {
  const missing = ids.filter((id) => !known.has(id))
  const [rows, targets] = await Promise.all([
    missing.length === 0
      ? []
      : db.selectFrom('actions').selectAll().where(anyOf('actions.id', missing)).execute(),
    db
      .selectFrom('targets')
      .selectAll()
      .where(anyOf('targets.action_id', ids))
      .orderBy('action_id')
      .orderBy('position')
      .execute(),
  ])
  const byId = new Map(rows.map((row) => [row.id, row]))
  const byAction = Map.groupBy(targets, (target) => target.action_id)
  return ids.flatMap((id) => {
    const row = known.get(id) ?? byId.get(id)
    return row ? [{ row, targets: byAction.get(id) ?? [] }] : []
  })
}

/** The same for reads of single actions, which share their statements with each other. */
export function shareWholeLoads(db: Database): LoadWhole {
  const find = shareLoads(async (keys) => {
    const actions = await loadWhole(db, keys.map(Number))
    return new Map(actions.map((action) => [String(action.row.id), action]))
  })
  return async (ids) => {
    const found = await Promise.all(ids.map((id) => find(String(id))))
    return found.filter((one) => one !== undefined)
  }
}
