import { type Kysely, sql } from 'kysely'

export const toleratedBy = '0.1.0'
export const locks = ['actions']

// What a deploy ships, compared once and kept with the action: one row for all servers that served the same release before.
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table action_changes (
      action_id bigint not null references actions on delete cascade,
      -- Empty: nothing was live on these servers.
      from_release text not null,
      from_action_id bigint,
      from_commit text,
      to_commit text,
      server_ids bigint[] not null,
      -- Both null: not compared yet.
      comparison jsonb,
      reason text,
      primary key (action_id, from_release)
    )`.execute(db)
}
