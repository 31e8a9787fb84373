import { type Kysely, sql } from 'kysely'

export const toleratedBy = '0.1.0'
export const locks = ['approval_requests']

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
]
