import { type Kysely, sql } from 'kysely'

export const toleratedBy = '0.1.0'
export const locks = ['actions']

// Which action gets the next slot of a pipeline, without reading those that have one and wait for a server.
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create index actions_without_place on actions (pipeline_id, id)
    where status in ('queued', 'waiting') and not has_place`.execute(db)
}
