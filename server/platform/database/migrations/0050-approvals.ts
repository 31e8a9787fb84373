import { type Kysely, sql } from 'kysely'

export const toleratedBy = '0.1.0'
export const locks = [
  'environments',
  'actions',
  'targets',
  'users',
  'tokens',
  'pipelines',
  'events',
  'login_authorizations',
  'device_codes',
]

// Who agrees to what a run ships, before it starts. An approval names what the person saw, by its hash.
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements: string[] = [
  'alter table environments add column approval jsonb',

  // Every setting that an environment had, and until when: a run needs what the strictest since its creation demands.
  `create table approval_terms (
    id bigint generated always as identity primary key,
    environment_id bigint not null references environments,
    terms jsonb not null,
    since timestamptz(3) not null default clock_timestamp(),
    until timestamptz(3)
  )`,
  'create index approval_terms_environment on approval_terms (environment_id)',

  // Of each run that needs approval. Without a subject, a worker has yet to find out what it ships. `stamp` and `verified`
  // are what the lock compares: what it consists of, and what each server served when that was last compared.
  `create table approval_requests (
    action_id bigint primary key references actions on delete cascade,
    environment_id bigint not null references environments,
    salt text not null default encode(sha256(gen_random_uuid()::text::bytea), 'hex'),
    subject text,
    stamp text,
    shown jsonb,
    verified jsonb,
    author_emails text[] not null default '{}',
    problem text,
    asked_at timestamptz(3),
    expires_at timestamptz(3),
    approved_at timestamptz(3),
    due_at timestamptz(3) default clock_timestamp(),
    created_at timestamptz(3) not null default clock_timestamp()
  )`,
  'create index approval_requests_environment on approval_requests (environment_id)',
  'create index approval_requests_due on approval_requests (due_at) where due_at is not null',
  'create index approval_requests_expiring on approval_requests (expires_at) where expires_at is not null',

  `create table approvals (
    id bigint generated always as identity primary key,
    action_id bigint not null references actions on delete cascade,
    user_id bigint not null references users,
    decision text not null check (decision in ('approved', 'rejected')),
    subject text not null,
    comment text,
    created_at timestamptz(3) not null default clock_timestamp(),
    lapsed_at timestamptz(3)
  )`,
  'create unique index approvals_in_force on approvals (action_id, user_id) where lapsed_at is null',
  'create index approvals_action on approvals (action_id)',
  'create index approvals_user on approvals (user_id)',

  // What the last run that started consisted of, where approval is required: rollbacks are compared with it.
  `create table started_settings (
    pipeline_id bigint primary key references pipelines on delete cascade,
    action_id bigint not null,
    stamp text not null
  )`,

  // Of started runs: the servers that need approval again.
  'create index targets_at_gate on targets (gate, action_id) where gate is not null',

  // What happened at a gate, besides the status: an event may be nothing else.
  'alter table events add column gate_event text',

  // Whether the person who approved a login of the command line let it approve runs.
  'alter table login_authorizations add column may_approve boolean not null default false',
  'alter table device_codes add column may_approve boolean not null default false',

  'alter table tokens drop constraint tokens_scopes_check',
  `alter table tokens add constraint tokens_scopes_check
    check (scopes <@ array['read', 'run', 'hooks', 'manage', 'approve'] and cardinality(scopes) > 0)`,
]
