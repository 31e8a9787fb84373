import { type Kysely, sql } from 'kysely'

export const toleratedBy = '0.1.0'

// The newest action that used a credential for a connection or a delivery. The use for a source is in the action itself.
// Not in the row of the credential: its version and the version of the tree would change with every run.
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements: string[] = [
  `create table credential_uses (
    credential_id bigint primary key references credentials on delete cascade,
    action_id bigint not null
  ) with (fillfactor = 50)`,
  `insert into credential_uses (credential_id, action_id)
    select s.credential_id, max(t.action_id) from targets t join servers s on s.id = t.server_id
    where s.credential_id is not null and t.started_at is not null group by s.credential_id`,
]
