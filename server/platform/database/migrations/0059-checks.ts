import { type Kysely, sql } from 'kysely'

export const toleratedBy = '0.1.0'
export const locks = ['pipelines', 'actions', 'refused_calls']

// Runs that wait until the checks of their commit are green. What a host said about a commit is stored once, however many runs
// wait for it.
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements: string[] = [
  'alter table pipelines add column wait_for_checks jsonb',

  // Every setting that a pipeline had, and until when: a run has to meet all of those since its creation.
  `create table checks_terms (
    id bigint generated always as identity primary key,
    pipeline_id bigint not null references pipelines on delete cascade,
    terms jsonb not null,
    since timestamptz(3) not null default clock_timestamp(),
    until timestamptz(3)
  )`,
  'create index checks_terms_pipeline on checks_terms (pipeline_id)',

  // Of a commit, as its host answers with one credential. The host is asked while `due_at` is set: while runs wait.
  `create table commit_checks (
    id bigint generated always as identity primary key,
    credential_id bigint not null,
    provider text not null check (provider in ('github', 'gitlab', 'gitea')),
    api_url text not null,
    repository text not null,
    commit text not null,
    -- Null: the host has not answered yet.
    checks jsonb,
    is_partial boolean not null default false,
    changed_at timestamptz(3),
    answered_at timestamptz(3),
    -- Why the last question was not answered; null when it was.
    problem text,
    asked_at timestamptz(3),
    due_at timestamptz(3),
    leased_until timestamptz(3),
    created_at timestamptz(3) not null default clock_timestamp(),
    unique (credential_id, api_url, repository, commit)
  )`,
  'create index commit_checks_due on commit_checks (due_at) where due_at is not null',
  'create index commit_checks_commit on commit_checks (commit)',

  // Of each run that waits for checks, or did. `expires_at`: while it waits. `due_at`: until a worker has found its commit.
  `create table check_requests (
    action_id bigint primary key references actions on delete cascade,
    environment_id bigint not null,
    pipeline_id bigint not null,
    commit_checks_id bigint,
    problem text,
    -- What its checks were when it passed the gate, or ended there.
    result jsonb,
    since timestamptz(3) not null default clock_timestamp(),
    expires_at timestamptz(3),
    passed_at timestamptz(3),
    due_at timestamptz(3) default clock_timestamp(),
    is_watched boolean not null default false,
    created_at timestamptz(3) not null default clock_timestamp()
  )`,
  'create index check_requests_turns on check_requests (pipeline_id, action_id) where due_at is not null',
  'create index check_requests_watched on check_requests (action_id) where is_watched',
  'create index check_requests_waiting on check_requests (commit_checks_id) where expires_at is not null',
  'create index check_requests_expiring on check_requests (expires_at) where expires_at is not null',

  // Calls about checks start nothing: they are recorded like rejected ones, the rest is counted.
  'alter table refused_calls drop constraint refused_calls_outcome_check',
  `alter table refused_calls add constraint refused_calls_outcome_check
    check (outcome in ('rejected_signature', 'rate_limited', 'checks'))`,
]
