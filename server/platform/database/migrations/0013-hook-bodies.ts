import { type Kysely, sql } from 'kysely'

export const toleratedBy = '0.2.0'

// The settings of a hook as text: the body of an outgoing hook keeps the order of its keys.
export async function up(db: Kysely<unknown>): Promise<void> {
  // A table with events that wait for their triggers cannot be altered.
  await sql`set constraints all immediate`.execute(db)
  await sql`alter table hooks alter column settings type json using settings::json`.execute(db)
  await sql`set constraints all deferred`.execute(db)
}
