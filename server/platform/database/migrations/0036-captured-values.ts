import { type Kysely, sql } from 'kysely'

export const toleratedBy = '0.1.0'
export const locks = ['actions', 'deliveries', 'hook_requests', 'hooks']

// What an outgoing hook has captured from answers about an action, for its later requests about it.
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table captured_values (
      -- New with every change: what is sealed is bound to it.
      id uuid primary key,
      action_id bigint not null references actions on delete cascade,
      hook_id uuid not null references hooks on delete cascade,
      values jsonb not null,
      -- The hidden ones, sealed.
      hidden bytea,
      -- The receiver that the values belong to.
      origin text not null,
      -- What was created is gone, and was created once more.
      is_recreated boolean not null,
      updated_at timestamptz not null default now(),
      unique (action_id, hook_id)
    )`.execute(db)
  await sql`alter table hook_requests add column capture_error text`.execute(db)
  // Pending again, in the order of its events: a later one may be in flight.
  await sql`alter table deliveries add column is_redelivered boolean not null default false`.execute(db)
}
