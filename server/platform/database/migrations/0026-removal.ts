import { type Kysely, sql } from 'kysely'

export const toleratedBy = '0.1.0'
export const locks = ['actions', 'targets', 'target_moves', 'step_log_chunks']

// Removing old runs spent most of its time on foreign keys that looked, row by row, for what the same transaction had just
// removed. Targets are stored by the statement that stores their action, moves and logs under a lock on their target, and
// all of them go together (ops/retention): nothing can be left over.
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const [table, constraint] of CONSTRAINTS)
    await sql`alter table ${sql.table(table)} drop constraint if exists ${sql.ref(constraint)}`.execute(db)
}

const CONSTRAINTS = [
  ['targets', 'targets_action_id_fkey'],
  ['target_moves', 'target_moves_target_id_fkey'],
  ['step_log_chunks', 'step_log_chunks_target_id_fkey'],
] as const
