import { type Kysely, sql } from 'kysely'

export const toleratedBy = '0.1.0'
export const locks = ['approval_requests', 'actions', 'environments']

// Runs that need approval are prepared in turns: one of each pipeline, and first those that a person looks at.
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements: string[] = [
  'alter table approval_requests add column pipeline_id bigint',
  'alter table approval_requests add column is_watched boolean not null default false',
  'update approval_requests r set pipeline_id = a.pipeline_id from actions a where a.id = r.action_id',
  'alter table approval_requests alter column pipeline_id set not null',
  'drop index approval_requests_due',
  'create index approval_requests_turns on approval_requests (pipeline_id, action_id) where due_at is not null',
  'create index approval_requests_watched on approval_requests (action_id) where is_watched',

  // Calls store requests: foreign keys would look up the run that the same statement stores, and its environment, for each of
  // them. An environment stays as long as its pipelines, and those stay while runs name them.
  'alter table approval_requests drop constraint approval_requests_action_id_fkey',
  'alter table approval_requests drop constraint approval_requests_environment_id_fkey',
  `create function remove_approval_requests() returns trigger language plpgsql as $$
  begin
    delete from approval_requests where action_id = any(array(select id from removed));
    return null;
  end $$`,
  `create trigger remove_approval_requests after delete on actions referencing old table as removed
    for each statement execute function remove_approval_requests()`,
  // What changes with the settings of an environment; only those that people were asked about, or have approved.
  'drop index approval_requests_environment',
  `create index approval_requests_environment on approval_requests (environment_id)
    where expires_at is not null or approved_at is not null`,
]
