import { type Kysely, sql } from 'kysely'

export const toleratedBy = '0.1.0'
export const locks = ['applications', 'servers', 'key_check']

// Servers whose live release is not known: a switch was interrupted, or `current` is nothing that Gantry made. A server
// is in `live_releases`, here, or in neither (nothing is live). What was live stays known: existing rows are not touched.
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements: string[] = [
  `create table unknown_live_releases (
    application_id bigint not null references applications,
    server_id bigint not null references servers,
    reason text not null,
    since timestamptz(3) not null default clock_timestamp(),
    changed_at timestamptz(3) not null default clock_timestamp(),
    try_at timestamptz(3) not null default clock_timestamp(),
    target_id bigint,
    candidate_action_id bigint,
    candidate_release_name text,
    candidate_commit_sha text,
    last_action_id bigint,
    last_release_name text,
    last_commit_sha text,
    last_since timestamptz(3),
    primary key (application_id, server_id)
  )`,
  'create index unknown_live_releases_server on unknown_live_releases (server_id)',

  // Nothing is live on removed servers, or of removed applications.
  `create or replace function forget_live_releases() returns trigger language plpgsql as $$
  begin
    if tg_table_name = 'servers' then
      delete from live_releases where server_id = new.id;
      delete from unknown_live_releases where server_id = new.id;
    else
      delete from live_releases where application_id = new.id;
      delete from unknown_live_releases where application_id = new.id;
    end if;
    return null;
  end $$`,

  // For older code only: this code says which servers it means, and the trigger would bring back rows that it removed.
  'drop trigger note_live_action on applications',
  `create trigger note_live_action after update of live_action_id on applications for each row
    when (new.live_action_id is not null and current_setting('gantry.live_recorded', true) is distinct from 'on')
    execute function note_live_action()`,

  // Marks on servers name the installation. Its name was derived from a sealed value, which a key rotation replaces.
  `alter table key_check add column installation text not null default left(replace(gen_random_uuid()::text, '-', ''), 12)`,
  `update key_check set installation = left(encode(sha256(sealed), 'hex'), 12)`,
]
