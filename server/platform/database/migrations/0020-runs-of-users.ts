import { type Kysely, sql } from 'kysely'

export const toleratedBy = '0.1.0'

// Who started a run, newest first. Runs that a hook or another run started have no user, and cost nothing here.
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create index actions_user on actions (environment_id, triggered_by, id)
    where triggered_by is not null`.execute(db)
}
