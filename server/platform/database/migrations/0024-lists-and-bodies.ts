import { type Kysely, sql } from 'kysely'

export const toleratedBy = '0.1.0'
export const locks = ['hook_requests', 'actions']

// Lists of actions by any two filters, rate limits that hold across processes, and bodies that take less room. Runs that
// a hook started, of which there are many, have one index for that; the two by trigger and by user hold only the others.
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const BODIES = ['request_body', 'request_headers', 'response_body', 'response_headers']

const statements: string[] = [
  'drop index actions_hook',
  'create index actions_hook on actions (hook_id, status, id) where hook_id is not null',
  'drop index actions_trigger',
  `create index actions_trigger on actions (pipeline_id, trigger_type, status, id) where trigger_type <> 'hook'`,
  `create index actions_user_pipeline on actions (pipeline_id, triggered_by, trigger_type, status, id)
    where triggered_by is not null`,

  // A bucket of tokens per hook, of which processes take some at a time. Not logged: after a crash they are full again.
  `create unlogged table hook_tokens (
    hook_id uuid primary key,
    tokens float8 not null,
    filled_at timestamptz not null default clock_timestamp()
  ) with (fillfactor = 50)`,

  // Compressed in their row: two calls of usual size then share a page that one did not fill. Only what is written from
  // now on; what is stored stays as it is.
  ...BODIES.map((column) => `alter table hook_requests alter column ${column} set storage main`),
  'alter table hook_requests set (toast_tuple_target = 512)',
  // Faster than the default, where PostgreSQL was built with it.
  `do $$ begin
    ${BODIES.map((column) => `alter table hook_requests alter column ${column} set compression lz4;`).join(' ')}
  exception when feature_not_supported then null;
  end $$`,
]
