import { type Kysely, sql } from 'kysely'

export const toleratedBy = '0.1.0'
export const locks = ['hooks', 'hook_requests', 'hook_connections', 'webhook_removals']

// What connected hooks missed while Gantry could not be reached: which calls the host failed to deliver, and where each branch
// was when the hook was last called for it.
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements: string[] = [
  // Of calls to connected hooks: the sender's id, and the branch or tag that was pushed.
  'alter table hook_requests add column delivery_id text',
  'alter table hook_requests add column pushed_ref text',
  'alter table hook_requests add column pushed_commit text',
  // Until when the calls that came here, and those that the host tried, have been compared.
  `alter table hook_connections add column calls_read_until timestamptz(3) not null default now()`,
  `alter table hook_connections add column tries_read_until timestamptz(3) not null default now()`,
  // Whether the person who removed its organization could use the credential, whose secret is kept until the webhook is removed.
  'alter table webhook_removals add column is_authorized boolean not null default false',
  // The newest call for each branch.
  `create table called_branches (
    hook_id uuid not null references hook_connections on delete cascade,
    branch text not null,
    call_id uuid not null,
    commit text not null,
    -- How often Gantry made the call that the host did not.
    finds integer not null default 0,
    -- Since when the branch is elsewhere; null: it is not.
    differs_since timestamptz(3),
    primary key (hook_id, branch)
  )`,
  `create table catch_ups (
    id bigint generated always as identity primary key,
    hook_id uuid not null references hooks,
    created_at timestamptz(3) not null default now()
  )`,
  'create index catch_ups_hook on catch_ups (hook_id, id desc)',
  'create index catch_ups_age on catch_ups (created_at)',
  `create table missed_calls (
    id bigint generated always as identity primary key,
    catch_up_id bigint not null references catch_ups on delete cascade,
    hook_id uuid not null references hooks,
    delivery_id text not null,
    -- The newest try, at the host; null for calls that Gantry found by itself.
    attempt_id text,
    event text,
    ref text,
    commit text,
    missed_at timestamptz(3) not null,
    state text not null check (state in ('waiting', 'superseded', 'redelivered', 'received', 'found', 'lost')),
    is_read boolean not null default false,
    redeliveries integer not null default 0,
    redelivered_at timestamptz(3),
    -- The call that came, or that was found.
    request_id uuid,
    created_at timestamptz(3) not null default now(),
    unique (hook_id, delivery_id)
  )`,
  'create index missed_calls_catch_up on missed_calls (catch_up_id)',
  // A later call of the host for the same commit is a duplicate of one that was found.
  `create index missed_calls_found on missed_calls (hook_id, created_at) where state = 'found'`,
  // What the cache of hooks knows: whether a hook is connected, and which calls were found.
  `create constraint trigger raise_tree_version after insert or delete on hook_connections
    deferrable initially deferred for each row execute function raise_tree_version()`,
  `create constraint trigger raise_tree_version after insert on missed_calls
    deferrable initially deferred for each row when (new.state = 'found') execute function raise_tree_version()`,
]
