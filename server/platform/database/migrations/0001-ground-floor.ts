import { type Kysely, sql } from 'kysely'

export const toleratedBy = '0.1.0'

// The first tables. Wrong states are made impossible here rather than watched for elsewhere: composite
// foreign keys keep a pipeline, its resource and its environment together, checks keep a status and its
// reason together. Migrations are never edited once released; the next change is the next file.
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const OPERATIONS = `'deploy', 'configure', 'provision', 'start', 'stop', 'restart', 'reload', 'get_status',
  'rotate_key', 'check_provisioned', 'remove', 'delete', 'custom'`

/**
 * A status with a reason that belongs to it, and times that fit both. A function, because a check of this size
 * written out is read anew by every statement, which on the way of a call costs more than the rows.
 */
const SOUND_STATE = `
  create function is_sound_state(status text, reason text, started_at timestamptz, completed_at timestamptz)
  returns boolean language plpgsql immutable as $$
    begin
      return case status
          when 'pending' then reason = 'PENDING'
          when 'waiting' then reason in ('WAITING_CONCURRENCY_PIPELINE', 'WAITING_CONCURRENCY_TARGET')
          when 'queued' then reason = 'QUEUED'
          when 'in-progress' then reason in ('IN_PROGRESS', 'PENDING')
          when 'completed' then reason = 'COMPLETED'
          when 'skipped' then reason = 'SKIPPED'
          when 'failed' then reason in ('FAILED', 'FAILED_TIMEOUT', 'FAILED_CANCELLED', 'FAILED_WORKER_LOST',
            'FAILED_UNREACHABLE', 'FAILED_SOURCE')
          else false
        end
        and (completed_at is not null) = (status in ('completed', 'failed', 'skipped'))
        and (status not in ('in-progress', 'completed') or started_at is not null)
        and (status not in ('pending', 'waiting', 'queued', 'skipped') or started_at is null);
    end $$`
const HAS_SOUND_STATE = 'check (is_sound_state(status, status_reason_code, started_at, completed_at))'

const CREATED_AND_UPDATED = `
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()`

const id = 'id bigint generated always as identity primary key'

const statements: string[] = [
  // ── Accounts ──────────────────────────────────────────────────────────────────────────────────────
  `create table users (
    ${id},
    name text not null check (length(name) between 1 and 255),
    email text not null check (length(email) between 3 and 255),
    url_slug text not null unique,
    language text not null default 'en',
    active boolean not null default true,
    is_instance_admin boolean not null default false,
    password_hash text,
    ${CREATED_AND_UPDATED}
  )`,
  'create unique index users_email on users (lower(email))',

  // Access, refresh and personal tokens; only their SHA-256 is kept. Access and refresh tokens of one
  // login share a family, which is revoked as a whole.
  `create table tokens (
    ${id},
    user_id bigint not null references users on delete cascade,
    kind text not null check (kind in ('access', 'refresh', 'personal')),
    family uuid,
    name text,
    hash bytea not null unique check (octet_length(hash) = 32),
    expires_at timestamptz(3),
    used_at timestamptz(3),
    revoked_at timestamptz(3),
    created_at timestamptz(3) not null default now(),
    check ((kind = 'personal') = (family is null)),
    check ((kind = 'personal') = (name is not null)),
    check (kind = 'personal' or expires_at is not null)
  )`,
  'create index tokens_family on tokens (family) where family is not null',
  `create index tokens_personal on tokens (user_id, id) where kind = 'personal'`,
  'create index tokens_expiry on tokens (expires_at) where expires_at is not null',

  // Failed logins, by a hash of the e-mail address and by network address, so that throttling holds
  // across processes and restarts.
  `create table login_failures (
    subject bytea not null,
    failed_at timestamptz(3) not null default now()
  )`,
  'create index login_failures_subject on login_failures (subject, failed_at)',
  'create index login_failures_age on login_failures (failed_at)',

  // ── The tree ──────────────────────────────────────────────────────────────────────────────────────
  `create table organizations (
    ${id},
    name text not null check (length(name) between 1 and 255),
    url_slug text not null unique,
    owner_id bigint not null references users,
    ${CREATED_AND_UPDATED}
  )`,
  `create table projects (
    ${id},
    organization_id bigint not null references organizations,
    name text not null check (length(name) between 1 and 255),
    logo_url text,
    created_by bigint not null references users,
    ${CREATED_AND_UPDATED},
    unique (organization_id, name),
    unique (id, organization_id)
  )`,
  `create table environments (
    ${id},
    project_id bigint not null references projects,
    type text not null check (type in ('development', 'staging', 'production')),
    name text not null check (length(name) between 1 and 255),
    description text,
    archived_at timestamptz(3),
    ${CREATED_AND_UPDATED},
    unique (project_id, name),
    unique (id, project_id)
  )`,
  `create table roles (
    ${id},
    organization_id bigint not null references organizations,
    name text not null check (length(name) between 1 and 60),
    permissions text[] not null,
    ${CREATED_AND_UPDATED},
    unique (organization_id, name),
    unique (id, organization_id)
  )`,
  // A role given to a user on an organization, on one project of it, or on one environment of that.
  `create table grants (
    ${id},
    user_id bigint not null references users on delete cascade,
    built_in_role text check (built_in_role in ('owner', 'admin', 'developer', 'viewer')),
    role_id bigint,
    organization_id bigint not null references organizations,
    project_id bigint,
    environment_id bigint,
    created_at timestamptz(3) not null default now(),
    check (num_nonnulls(built_in_role, role_id) = 1),
    check (environment_id is null or project_id is not null),
    foreign key (role_id, organization_id) references roles (id, organization_id),
    foreign key (project_id, organization_id) references projects (id, organization_id),
    foreign key (environment_id, project_id) references environments (id, project_id),
    unique nulls not distinct (user_id, built_in_role, role_id, organization_id, project_id, environment_id)
  )`,

  // ── What runs, and where ──────────────────────────────────────────────────────────────────────────
  `create table credentials (
    ${id},
    organization_id bigint not null references organizations,
    name text not null check (length(name) between 1 and 255),
    provider_code text not null check (provider_code in ('github', 'gitlab', 'bitbucket', 'gitea', 'git', 'ssh')),
    auth_type text not null check (auth_type in ('token', 'key', 'none')),
    base_url text,
    username text,
    secret bytea,
    active boolean not null default true,
    created_by bigint not null references users,
    ${CREATED_AND_UPDATED},
    unique (organization_id, name),
    unique (id, organization_id),
    check ((auth_type = 'none') = (secret is null)),
    check ((provider_code = 'ssh') = (auth_type = 'key'))
  )`,
  `create table servers (
    ${id},
    environment_id bigint not null references environments,
    name text not null check (length(name) between 1 and 255),
    provider_code text not null check (provider_code in ('local', 'ssh')),
    host text,
    port integer check (port between 1 and 65535),
    login_name text,
    credential_id bigint references credentials,
    host_key text,
    root_directory text not null check (root_directory like '/%'),
    max_parallel_actions integer not null default 1 check (max_parallel_actions >= 0),
    created_by bigint not null references users,
    ${CREATED_AND_UPDATED},
    unique (environment_id, name),
    unique (id, environment_id),
    check ((provider_code = 'ssh') = (host is not null)),
    check ((provider_code = 'ssh') = (port is not null)),
    check (provider_code = 'local' or login_name is not null)
  )`,
  `create table applications (
    ${id},
    project_id bigint not null,
    environment_id bigint not null,
    name text not null check (length(name) between 1 and 255),
    repository text not null,
    default_branch text not null,
    programming_language text,
    engine_version text,
    framework text,
    root_directory text,
    install_dependencies_command text,
    build_command text,
    shared_paths text[] not null default '{}',
    deployments_keep integer not null default 5 check (deployments_keep between 1 and 100),
    credential_id bigint references credentials,
    created_by bigint not null references users,
    ${CREATED_AND_UPDATED},
    foreign key (environment_id, project_id) references environments (id, project_id),
    unique (environment_id, name),
    unique (id, environment_id)
  )`,
  `create table application_variables (
    ${id},
    application_id bigint not null references applications on delete cascade,
    name text not null check (name ~ '^[A-Za-z_][A-Za-z0-9_]{0,63}$'),
    value bytea not null,
    hidden boolean not null default false,
    ${CREATED_AND_UPDATED},
    unique (application_id, name)
  )`,
  // Which servers an application is deployed to; both live in one environment.
  `create table application_servers (
    application_id bigint not null,
    server_id bigint not null,
    environment_id bigint not null,
    primary key (application_id, server_id),
    foreign key (application_id, environment_id) references applications (id, environment_id) on delete cascade,
    foreign key (server_id, environment_id) references servers (id, environment_id) on delete cascade
  )`,
  'create index application_servers_server on application_servers (server_id)',
  `create table pipelines (
    ${id},
    environment_id bigint not null references environments,
    resource_type text not null check (resource_type in ('application', 'server')),
    application_id bigint,
    server_id bigint,
    name text not null check (length(name) between 1 and 255),
    operation text not null check (operation in (${OPERATIONS})),
    max_parallel_actions integer not null default 1 check (max_parallel_actions >= 0),
    queue_policy text not null default 'queue' check (queue_policy in ('queue', 'latest', 'reject')),
    rollout jsonb,
    created_by bigint not null references users,
    ${CREATED_AND_UPDATED},
    foreign key (application_id, environment_id) references applications (id, environment_id),
    foreign key (server_id, environment_id) references servers (id, environment_id),
    check (num_nonnulls(application_id, server_id) = 1),
    check ((resource_type = 'application') = (application_id is not null)),
    check (operation <> 'deploy' or resource_type = 'application'),
    unique (id, environment_id),
    unique (id, environment_id, operation)
  )`,
  'create index pipelines_application on pipelines (application_id) where application_id is not null',
  'create index pipelines_server on pipelines (server_id) where server_id is not null',
  'create index pipelines_environment on pipelines (environment_id)',
  `create table pipeline_run_after (
    pipeline_id bigint not null,
    after_pipeline_id bigint not null,
    environment_id bigint not null,
    foreign key (pipeline_id, environment_id) references pipelines (id, environment_id) on delete cascade,
    foreign key (after_pipeline_id, environment_id) references pipelines (id, environment_id) on delete cascade,
    primary key (pipeline_id, after_pipeline_id),
    check (pipeline_id <> after_pipeline_id)
  )`,
  // Built-in steps of a deploy and a person's own, in the order in which they run.
  `create table pipeline_steps (
    ${id},
    pipeline_id bigint not null references pipelines on delete cascade,
    position integer not null check (position between 1 and 200),
    name text not null check (length(name) between 1 and 255),
    description text,
    built_in boolean not null default false,
    command text check (octet_length(command) <= 65536),
    run_as_user text,
    timeout_seconds integer not null default 600 check (timeout_seconds between 1 and 86400),
    idempotent boolean not null default false,
    ${CREATED_AND_UPDATED},
    unique (pipeline_id, position) deferrable initially deferred,
    check (built_in = (command is null))
  )`,

  // ── Hooks ─────────────────────────────────────────────────────────────────────────────────────────
  // A removed hook keeps its row, without its secrets, because the calls and runs that name it stay.
  `create table hooks (
    id uuid primary key,
    pipeline_id bigint not null,
    environment_id bigint not null,
    type text not null check (type in ('incoming', 'outgoing')),
    name text not null check (length(name) between 1 and 60),
    action_type text not null,
    active boolean not null default true,
    url_token bytea,
    url_token_hash bytea unique,
    requires_secret boolean,
    secret bytea,
    previous_secret bytea,
    previous_secret_until timestamptz(3),
    secret_algorithm text check (secret_algorithm in ('sha1', 'sha256', 'sha384', 'sha512')),
    secret_header_name text,
    target_url text check (length(target_url) <= 2048),
    verify_ssl boolean,
    settings jsonb not null,
    trigger_when jsonb not null,
    disabled_at timestamptz(3),
    disabled_reason text,
    deleted_at timestamptz(3),
    created_by bigint not null references users,
    edited_by bigint not null references users,
    ${CREATED_AND_UPDATED},
    foreign key (pipeline_id, environment_id) references pipelines (id, environment_id),
    check ((type = 'incoming') = (requires_secret is not null)),
    check ((type = 'outgoing') = (target_url is not null)),
    check ((type = 'outgoing') = (verify_ssl is not null)),
    check (deleted_at is not null or (type = 'incoming') = (url_token_hash is not null)),
    check (deleted_at is not null or (url_token is null) = (url_token_hash is null)),
    check (deleted_at is not null or type = 'incoming' or secret is not null),
    check (deleted_at is not null or requires_secret is not true or (secret is not null and secret_algorithm is not null and secret_header_name is not null)),
    check (deleted_at is null or (secret is null and previous_secret is null and url_token is null and url_token_hash is null and not active)),
    check ((previous_secret is null) = (previous_secret_until is null)),
    check ((disabled_at is null) = (disabled_reason is null))
  )`,
  'create index hooks_pipeline on hooks (pipeline_id, created_at desc, id) where deleted_at is null',

  SOUND_STATE,
  // ── Runs ──────────────────────────────────────────────────────────────────────────────────────────
  `create table actions (
    ${id},
    environment_id bigint not null,
    pipeline_id bigint not null,
    type text not null,
    status text not null,
    status_reason_code text not null,
    trigger_type text not null check (trigger_type in ('hook', 'manual', 'retry', 'pipeline')),
    trigger_comment text check (length(trigger_comment) <= 255),
    origin text,
    trigger_name text,
    trigger_email text,
    ip_address text,
    triggered_by bigint references users,
    hook_id uuid references hooks,
    hook_request_id uuid,
    hook_parsed_variables jsonb not null default '{}',
    release_name text,
    commit jsonb,
    deployment jsonb,
    credential_id bigint references credentials,
    retry_of bigint references actions,
    parent_id bigint references actions,
    started_at timestamptz(3),
    completed_at timestamptz(3),
    ${CREATED_AND_UPDATED},
    foreign key (pipeline_id, environment_id, type) references pipelines (id, environment_id, operation),
    ${HAS_SOUND_STATE},
    check (type = 'deploy' or num_nonnulls(release_name, commit, deployment) = 0),
    check (trigger_type <> 'hook' or num_nulls(hook_id, hook_request_id) = 0),
    check (hook_id is null or trigger_type <> 'manual')
  )`,
  'create index actions_environment on actions (environment_id, id)',
  'create index actions_pipeline_status on actions (pipeline_id, status, id)',
  'create index actions_hook on actions (hook_id, id) where hook_id is not null',
  'create index actions_credential on actions (credential_id, id) where credential_id is not null',
  'create index actions_parent on actions (parent_id) where parent_id is not null',
  `create index actions_trigger on actions (environment_id, trigger_type, id) where trigger_type <> 'hook'`,

  // The steps of a target are one value of its row: they are planned, shown and finished together, and
  // one row instead of six is what lets thousands of calls a second be stored.
  `create table targets (
    ${id},
    action_id bigint not null references actions,
    position integer not null check (position >= 1),
    batch integer not null default 1 check (batch >= 1),
    server_id bigint not null references servers,
    status text not null,
    status_reason_code text not null,
    steps jsonb not null check (jsonb_typeof(steps) = 'array'),
    started_at timestamptz(3),
    completed_at timestamptz(3),
    ${CREATED_AND_UPDATED},
    unique (action_id, position),
    unique (action_id, server_id),
    ${HAS_SOUND_STATE}
  )`,

  // Calls received and deliveries sent. Bodies are bytes, as they came: JSON columns refuse what senders
  // may send (U+0000, lone surrogates).
  `create table hook_requests (
    id uuid primary key,
    hook_id uuid not null references hooks,
    type text not null check (type in ('incoming', 'outgoing')),
    action_id bigint references actions,
    retry_of uuid references hook_requests,
    ip_address text,
    url text not null,
    method text not null,
    outcome text not null,
    response_status_code integer,
    request_headers jsonb,
    request_body bytea,
    response_headers jsonb,
    response_body bytea,
    duration_ms integer,
    next_attempt_at timestamptz(3),
    ${CREATED_AND_UPDATED}
  )`,
  'alter table hook_requests alter column request_body set storage external',
  'create index hook_requests_hook on hook_requests (hook_id, created_at desc, id desc)',
  'create index hook_requests_action on hook_requests (action_id, created_at desc, id desc) where action_id is not null',
  `alter table actions add foreign key (hook_request_id) references hook_requests
    deferrable initially deferred`,

  // The release that is live on the application's servers.
  'alter table applications add column live_action_id bigint references actions',

  // Target runs started per month: what the spec calls used credits.
  `create table used_credits (
    environment_id bigint not null references environments,
    month date not null check (extract(day from month) = 1),
    target_runs integer not null check (target_runs >= 0),
    primary key (environment_id, month)
  )`,

  // How many actions of each environment lie in each block of 5,000 ids, counted once a block is closed:
  // a page deep in the list is found by adding up blocks instead of walking a million rows.
  `create table action_blocks (
    block bigint not null,
    environment_id bigint not null references environments,
    actions integer not null check (actions > 0),
    first_created_at timestamptz(3) not null,
    last_created_at timestamptz(3) not null,
    primary key (block, environment_id)
  )`,
  `create table counted_action_blocks (
    only_row boolean primary key default true check (only_row),
    next_block bigint not null default 0
  )`,
  'insert into counted_action_blocks default values',

  // A value sealed with the master key: a process that cannot open it has another key, and must not start.
  `create table key_check (
    only_row boolean primary key default true check (only_row),
    sealed bytea not null
  )`,

  // Goes up with every committed change of the tree; what a process keeps of the tree in memory is good
  // for as long as this number stands still.
  `create table tree_version (
    only_row boolean primary key default true check (only_row),
    version bigint not null default 1
  )`,
  'insert into tree_version default values',
  // Deferred to the commit, so that this one row is the last that a transaction locks.
  `create function raise_tree_version() returns trigger language plpgsql as $$
    begin
      update tree_version set version = version + 1;
      return null;
    end $$`,
  ...[
    'users',
    'organizations',
    'projects',
    'environments',
    'credentials',
    'servers',
    'applications',
    'pipelines',
  ].map(
    (table) => `create constraint trigger raise_tree_version after insert or update or delete on ${table}
      deferrable initially deferred for each row execute function raise_tree_version()`,
  ),
]
