import { type Kysely, sql } from 'kysely'

export const toleratedBy = '0.1.0'
export const locks = ['targets']

// Which targets of a server are done and held, without reading those that are queued or run.
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create index targets_held on targets (server_id, action_id)
    where status = 'in-progress' and status_reason_code = 'PENDING'`.execute(db)
}
