import { type Kysely, sql } from 'kysely'

export const toleratedBy = '0.1.0'

// What running needs: places within the limits of pipelines and servers, who owns a target at this moment,
// what targets went through, and what their steps printed.
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements: string[] = [
  // An action that has taken one of its pipeline's places keeps it until it ends.
  'alter table actions add column has_place boolean not null default false',
  'alter table actions add column cancelled_by bigint references users',
  'alter table actions add column cancelled_at timestamptz(3)',
  `alter table actions add check (not has_place or status in ('waiting', 'queued', 'in-progress'))`,
  'create index actions_with_place on actions (pipeline_id) where has_place',

  // What a person gave a run. Null: it has the variables that its hook has read, if one started it.
  'alter table actions add column variables jsonb',
  'create index actions_release on actions (release_name) where release_name is not null',

  // A target that is queued or in progress has one of its server's places. `attempt` counts who has worked
  // on it: what an earlier attempt still writes is refused. `attempt_key` is how the last one knows itself.
  'alter table targets add column attempt integer not null default 0 check (attempt >= 0)',
  'alter table targets add column attempt_key text',
  'alter table targets add column release_name text',
  'create index targets_release on targets (release_name) where release_name is not null',
  `create index targets_with_place on targets (server_id) where status in ('queued', 'in-progress')`,
  `create index targets_waiting on targets (server_id, action_id) where status = 'waiting'`,

  // Every move of a target and, with its order, of a step of it.
  `create table target_moves (
    id bigint generated always as identity primary key,
    target_id bigint not null references targets,
    step_order integer,
    previous_status text not null,
    status text not null,
    status_reason_code text not null,
    occurred_at timestamptz(3) not null default now()
  )`,
  'create index target_moves_target on target_moves (target_id, id)',

  // Offsets count the bytes of the kept text of a step, over all its attempts.
  `create table step_log_chunks (
    target_id bigint not null references targets,
    step_order integer not null check (step_order >= 1),
    start_offset bigint not null check (start_offset >= 0),
    attempt integer not null,
    text text not null,
    bytes integer not null check (bytes > 0),
    created_at timestamptz(3) not null default now(),
    primary key (target_id, step_order, start_offset)
  )`,

  // A step's row never changes, so that a run does what was planned when it started: editing a step
  // replaces its row, and the old one stays for the runs that name it.
  'alter table pipeline_steps add column removed_at timestamptz(3)',
  'alter table pipeline_steps drop constraint pipeline_steps_pipeline_id_position_key',
  `alter table pipeline_steps add constraint pipeline_steps_position
    exclude using btree (pipeline_id with =, position with =) where (removed_at is null)
    deferrable initially deferred`,

  // Where an application lives below the root folder of its servers.
  'alter table applications add column folder text',
  `update applications set folder = trim('-' from lower(regexp_replace(name, '[^A-Za-z0-9]+', '-', 'g'))) || '-' || id`,
  'alter table applications alter column folder set not null',
  `alter table applications add check (folder ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$')`,
  'alter table applications add unique (environment_id, folder)',

  // Which release is live changes with every deploy, and is not read from what processes keep of the tree.
  'drop trigger raise_tree_version on applications',
  `create constraint trigger raise_tree_version after insert or delete on applications
    deferrable initially deferred for each row execute function raise_tree_version()`,
  `create constraint trigger raise_tree_version_when_edited after update on applications
    deferrable initially deferred for each row
    when (old.live_action_id is not distinct from new.live_action_id) execute function raise_tree_version()`,

  `create constraint trigger raise_tree_version after insert or update or delete on pipeline_run_after
    deferrable initially deferred for each row execute function raise_tree_version()`,
]
