// The tables as Kysely sees them. Timestamps come out as ISO 8601 text (see connect.ts).
import type { ColumnType, Generated, GeneratedAlways } from 'kysely'
import type { ReasonCode, ServerKind, Status } from '#platform/vocabulary.ts'

export type { ReasonCode, Status }

type Id = GeneratedAlways<number>
export type Timestamp = ColumnType<string, string | Date | undefined, string | Date>
type MaybeTimestamp = ColumnType<string | null, string | Date | null | undefined, string | Date | null>
/** Written as JSON text, read as a value. */
type Json<Value> = ColumnType<Value, string, string>
type MaybeJson<Value> = ColumnType<Value | null, string | null | undefined, string | null>

type Dated = { created_at: Timestamp; updated_at: Timestamp }
/** Its row stays when it is removed, because runs reference it; see docs/decisions/0007. */
type Retained = Dated & { deleted_at: MaybeTimestamp }

export type HookType = 'incoming' | 'outgoing'
export type ResourceType = 'application' | 'server'

/** Where a token may be sent: to any allowed address, or to its provider only. */
export type TokenTargets = 'anywhere' | 'provider'

export type Commit = {
  repository: string | null
  author_name: string | null
  author_email: string | null
  committed_at: string | null
  hash: string | null
  message: string | null
  url: string | null
  clone_url: string | null
  download_url: string | null
}

export type Deployment = {
  type: string
  source_type: string | null
  source_ref: string | null
  repository: string | null
  provider_name: string | null
}

/** One step of a target, as stored in `targets.steps`; its id is derived from the target's (see model/actions/present.ts). */
export type StoredStep = {
  order: number
  /** The row of pipeline_steps that it was planned from, which never changes; null for `revert-release`. */
  step_id: number | null
  name: string
  description: string | null
  status: Status
  reason: ReasonCode
  started_at: string | null
  completed_at: string | null
  /** Absent until the step moves: it is then as old as its target. */
  updated_at?: string
}

/** How a release is checked once it is live; complete, with its defaults (model/pipelines/health-check.ts). */
export type HealthCheck = {
  /** Between two tries. */
  interval_seconds: number
  /** Of one try. */
  timeout_seconds: number
  /** Of all tries together. */
  within_seconds: number
  healthy_for_seconds: number
} & (
  | { type: 'http'; url: string; expect_status: number | string; expect_body: string | null }
  | { type: 'tcp'; port: number }
  | { type: 'command'; command: string }
)

/** `release`: null when nothing was live. The rest is null when Gantry does not know the release. */
export type LiveBefore = { release: string | null; action_id: number | null; commit_sha: string | null }

/** How long an environment keeps what; null: forever. */
export type Retention = {
  runs_days: number | null
  runs_per_pipeline: number | null
  logs_days: number | null
  requests_days: number | null
}

/** What a service shows of a status that was sent to it. */
export type RemoteState = 'matches' | 'repaired' | 'overridden' | 'unknown' | 'not_checked'
export type DeliveryState = 'pending' | 'delivered' | 'failed' | 'superseded' | 'missed' | 'ignored'

export type Tables = {
  users: Dated & {
    id: Id
    name: string
    email: string
    url_slug: string
    language: Generated<string>
    active: Generated<boolean>
    is_instance_admin: Generated<boolean>
    password_hash: string | null
  }
  tokens: {
    id: Id
    user_id: number
    kind: 'access' | 'refresh' | 'personal'
    family: string | null
    name: string | null
    hash: Buffer
    expires_at: MaybeTimestamp
    used_at: MaybeTimestamp
    revoked_at: MaybeTimestamp
    created_at: Timestamp
    /** The session of a browser, which lives on when it is used. */
    in_cookie: Generated<boolean>
    /** The limits of a personal token; null: none. */
    scopes: ('read' | 'run' | 'hooks' | 'manage')[] | null
    organization_ids: number[] | null
    project_ids: number[] | null
    used_ip: string | null
  }
  sessions: {
    id: Id
    user_id: number
    family: string
    kind: 'browser' | 'api'
    ip_address: string | null
    user_agent: string | null
    created_at: Timestamp
    last_used_at: Timestamp
  }
  login_failures: { subject: Buffer; failed_at: Timestamp }
  sign_in_networks: { user_id: number; network: string; signed_in_at: Timestamp }
  password_resets: { user_id: number; hash: Buffer; expires_at: Timestamp; created_at: Timestamp }
  organizations: Retained & { id: Id; name: string; url_slug: string; owner_id: number }
  projects: Retained & {
    id: Id
    organization_id: number
    name: string
    logo_url: string | null
    created_by: number
  }
  environments: Retained & {
    id: Id
    project_id: number
    type: 'development' | 'staging' | 'production'
    name: string
    description: string | null
    archived_at: MaybeTimestamp
    /** Null: the defaults of the installation. */
    retention: MaybeJson<Retention>
  }
  roles: Dated & { id: Id; organization_id: number; name: string; permissions: string[] }
  grants: {
    id: Id
    user_id: number
    built_in_role: 'owner' | 'admin' | 'developer' | 'viewer' | null
    role_id: number | null
    organization_id: number
    project_id: number | null
    environment_id: number | null
    /** `oidc`: mapped from a group of the identity provider, and replaced at the next sign-in. */
    source: Generated<'manual' | 'oidc'>
    created_at: Timestamp
  }
  identities: {
    id: Id
    user_id: number
    issuer: string
    subject: string
    created_at: Timestamp
    last_used_at: MaybeTimestamp
  }
  oidc_attempts: {
    state_hash: Buffer
    browser_hash: Buffer
    network: string
    user_id: number | null
    token_id: number | null
    invitation_hash: Buffer | null
    expires_at: Timestamp
  }
  login_authorizations: {
    code_hash: Buffer
    code_challenge: Buffer
    redirect_uri: string
    name: string
    user_id: number
    token_id: number
    expires_at: Timestamp
  }
  credentials: Retained & {
    id: Id
    organization_id: number
    name: string
    provider_code: 'github' | 'gitlab' | 'bitbucket' | 'gitea' | 'git' | 'ssh' | 'slack' | 'discord'
    auth_type: 'token' | 'key' | 'none'
    base_url: string | null
    username: string | null
    secret: Buffer | null
    active: Generated<boolean>
    token_targets: Generated<TokenTargets>
    /** Lower case; other names of the host whose repositories its token may report on. */
    ssh_hosts: Generated<string[]>
    created_by: number
  }
  servers: Retained & {
    id: Id
    environment_id: number
    name: string
    provider_code: ServerKind
    host: string | null
    port: number | null
    login_name: string | null
    credential_id: number | null
    host_key: string | null
    allow_loopback: Generated<boolean>
    root_directory: string
    /** Of a local server: the worker on that machine; null for whichever all workers are called. */
    worker_name: string | null
    max_parallel_actions: Generated<number>
    created_by: number
  }
  applications: Retained & {
    id: Id
    project_id: number
    environment_id: number
    name: string
    repository: string
    default_branch: string
    programming_language: string | null
    engine_version: string | null
    framework: string | null
    root_directory: string | null
    install_dependencies_command: string | null
    build_command: string | null
    shared_paths: Generated<string[]>
    deployments_keep: Generated<number>
    submodules: Generated<'fetch' | 'ignore'>
    health_check: MaybeJson<HealthCheck>
    folder: string
    credential_id: number | null
    /** For processes of an older release; others read live_releases. */
    live_action_id: number | null
    created_by: number
  }
  application_variables: Dated & {
    id: Id
    application_id: number
    name: string
    value: Buffer
    hidden: Generated<boolean>
  }
  application_servers: { application_id: number; server_id: number; environment_id: number }
  pipelines: Retained & {
    id: Id
    environment_id: number
    resource_type: ResourceType
    application_id: number | null
    server_id: number | null
    name: string
    operation: string
    max_parallel_actions: Generated<number>
    queue_policy: Generated<'queue' | 'latest' | 'reject'>
    /** Replaces that of the application. */
    health_check: MaybeJson<HealthCheck>
    /** Without `on_failure` in rows of older releases. */
    rollout: MaybeJson<{ batch: number | string; max_failed: number; on_failure?: 'stop' | 'revert_all' }>
    /** When a step fails after activation. */
    on_failure: Generated<'revert' | 'keep'>
    created_by: number
  }
  pipeline_run_after: { pipeline_id: number; after_pipeline_id: number; environment_id: number }
  pipeline_steps: Dated & {
    id: Id
    /** The id of the step's first row, which the API shows as its id; null in that row. */
    original_id: number | null
    pipeline_id: number
    position: number
    name: string
    description: string | null
    built_in: Generated<boolean>
    command: string | null
    run_as_user: string | null
    timeout_seconds: Generated<number>
    idempotent: Generated<boolean>
    /** What `check-health` checks; null for all other steps. */
    health_check: MaybeJson<HealthCheck>
    irreversible: Generated<boolean>
    run_on_revert: Generated<boolean>
    removed_at: MaybeTimestamp
  }
  hooks: Dated & {
    id: string
    pipeline_id: number
    environment_id: number
    type: HookType
    name: string
    action_type: string
    active: Generated<boolean>
    url_token: Buffer | null
    url_token_hash: Buffer | null
    requires_secret: boolean | null
    secret: Buffer | null
    previous_secret: Buffer | null
    previous_secret_until: MaybeTimestamp
    secret_algorithm: string | null
    secret_header_name: string | null
    target_url: string | null
    verify_ssl: boolean | null
    /** Of an outgoing hook; null: the credential of the application. */
    credential_id: number | null
    settings: Json<Record<string, unknown>>
    trigger_when: Json<Record<string, unknown>>
    disabled_at: MaybeTimestamp
    disabled_reason: string | null
    /** Maintained by the database. */
    off_since: ColumnType<string | null, never, never>
    deleted_at: MaybeTimestamp
    created_by: number
    edited_by: number
  }
  actions: Dated & {
    id: Id
    environment_id: number
    pipeline_id: number
    type: string
    status: Status
    status_reason_code: ReasonCode
    trigger_type: 'hook' | 'manual' | 'retry' | 'pipeline'
    trigger_comment: string | null
    origin: string | null
    trigger_name: string | null
    trigger_email: string | null
    ip_address: string | null
    triggered_by: number | null
    hook_id: string | null
    hook_request_id: string | null
    hook_parsed_variables: ColumnType<Record<string, unknown>, string | undefined, string>
    variables: MaybeJson<Record<string, unknown>>
    release_name: string | null
    commit: MaybeJson<Commit>
    deployment: MaybeJson<Deployment>
    credential_id: number | null
    retry_of: number | null
    parent_id: number | null
    has_place: Generated<boolean>
    cancelled_by: number | null
    cancelled_at: MaybeTimestamp
    started_at: MaybeTimestamp
    completed_at: MaybeTimestamp
  }
  targets: Dated & {
    id: Id
    action_id: number
    position: number
    batch: Generated<number>
    server_id: number
    status: Status
    status_reason_code: ReasonCode
    steps: Json<StoredStep[]>
    attempt: Generated<number>
    attempt_key: string | null
    release_name: string | null
    /** What its server served before this target activated its release; null until then. */
    live_before: MaybeJson<LiveBefore>
    /** The worker that made the last attempt. */
    worker_name: string | null
    started_at: MaybeTimestamp
    completed_at: MaybeTimestamp
  }
  target_moves: {
    id: Id
    target_id: number
    step_order: number | null
    previous_status: Status
    status: Status
    status_reason_code: ReasonCode
    occurred_at: Timestamp
  }
  step_log_chunks: {
    target_id: number
    step_order: number
    start_offset: number
    attempt: number
    text: string
    bytes: number
    created_at: Timestamp
  }
  hook_requests: Dated & {
    id: string
    hook_id: string
    type: HookType
    action_id: number | null
    retry_of: string | null
    ip_address: string | null
    url: string
    method: string
    outcome: string
    response_status_code: number | null
    request_headers: MaybeJson<Record<string, string>>
    request_body: Buffer | null
    response_headers: MaybeJson<Record<string, string>>
    response_body: Buffer | null
    duration_ms: number | null
    content_type: string | null
    next_attempt_at: MaybeTimestamp
    error: string | null
    event_id: number | null
    attempt: number | null
    signature_problem: string | null
    body_bytes: number | null
    event_kind: string | null
    capture_error: string | null
  }
  captured_values: {
    id: string
    action_id: number
    hook_id: string
    values: Json<Record<string, string | number | boolean>>
    hidden: Buffer | null
    origin: string
    is_recreated: boolean
    updated_at: Timestamp
  }
  credential_uses: { credential_id: number; action_id: number }
  delivery_claims: { hook_id: string; key: Buffer; action_id: number; claimed_at: Timestamp }
  deliveries: {
    id: Generated<string>
    hook_id: string
    event_id: number
    action_id: number
    is_final: boolean
    state: Generated<DeliveryState>
    attempts: Generated<number>
    due_at: Timestamp
    leased_until: MaybeTimestamp
    first_request_id: string | null
    last_request_id: string | null
    asked_by: number | null
    is_redelivered: Generated<boolean>
    created_at: Timestamp
  }
  hook_health: {
    hook_id: string
    failures_in_a_row: Generated<number>
    open_until: MaybeTimestamp
    failing_since: MaybeTimestamp
    failed_deliveries: Generated<number>
    gone_answers: Generated<number>
    warned_at: MaybeTimestamp
  }
  /** Pauses that services asked for, by the credential whose token was sent. */
  rate_budgets: {
    credential_id: number
    origin: string
    paused_until: Timestamp
    reason: string
    /** Pauses in a row for which the service named no end. */
    unnamed_pauses: Generated<number>
  }
  /** Commit statuses that are read back; see engine/reconciling. */
  status_checks: {
    action_id: number
    hook_id: string
    event_id: number
    credential_id: number
    kind: string
    url: string
    context: string
    state: string
    link: string
    sent_at: Timestamp
    checks: Generated<number>
    repairs: Generated<number>
    due_at: MaybeTimestamp
    leased_until: MaybeTimestamp
    remote_state: Generated<RemoteState>
    remote_status: string | null
    remote_detail: string | null
    checked_at: MaybeTimestamp
  }
  events: {
    id: Id
    action_id: number
    previous_status: Status | null
    status: Status
    status_reason_code: ReasonCode
    occurred_at: Timestamp
  }
  refused_calls: { hook_id: string; hour: Timestamp; outcome: string; calls: number }
  used_credits: { environment_id: number; month: string; target_runs: number }
  action_blocks: {
    block: number
    environment_id: number
    actions: number
    first_created_at: Timestamp
    last_created_at: Timestamp
  }
  audit_entries: {
    id: Id
    organization_id: number | null
    occurred_at: Timestamp
    user_id: number | null
    ip_address: string | null
    request_id: string | null
    verb: string
    subject_type: string
    subject_id: string
    subject_name: string
    before: MaybeJson<Record<string, unknown>>
    after: MaybeJson<Record<string, unknown>>
    /** In commit order, which ids are not. Null only until the entry is committed. */
    position: ColumnType<number | null, never, never>
  }
  invitations: {
    id: Id
    organization_id: number
    email: string
    name: string | null
    invited_by: number
    hash: Buffer
    expires_at: Timestamp
    created_at: Timestamp
  }
  invitation_grants: {
    id: Id
    invitation_id: number
    built_in_role: 'owner' | 'admin' | 'developer' | 'viewer' | null
    role_id: number | null
    organization_id: number
    project_id: number | null
    environment_id: number | null
  }
  /** Runs that have ended, by day (UTC); see engine/counts/run-days.ts. */
  run_days: { environment_id: number; day: string; status: Status; duration_class: number; runs: number }
  counted_runs: { only_row: boolean; until: string }
  /** See model/workers. A worker of an older release has no name. */
  workers: {
    id: string
    name: string | null
    version: string | null
    capacity: number | null
    running_targets: Generated<number>
    started_at: Timestamp
    seen_at: Timestamp
    draining_since: string | null
  }
  /** Releases that may be on the disk of a server. */
  releases_on_disk: {
    application_id: number
    release_name: string
    server_id: number
    recorded_at: Timestamp
    /** As the last list of the server showed it. */
    on_disk: Generated<boolean>
    was_live: Generated<boolean>
    reverted: Generated<boolean>
    /** Measured on the server; null when unknown. */
    size_bytes: number | null
  }
  /** What each server of an application serves: the run that switched there last, and its release. */
  live_releases: {
    application_id: number
    server_id: number
    action_id: number
    release_name: string
    commit_sha: string | null
    since: Timestamp
  }
  /** Servers whose live release is not known, until it was read from them. They have no row in `live_releases`. */
  unknown_live_releases: {
    application_id: number
    server_id: number
    /** For people. */
    reason: string
    since: Timestamp
    changed_at: Timestamp
    /** When it is read next. */
    try_at: Timestamp
    /** Whose switch was interrupted; null when none was. */
    target_id: number | null
    /** What may be live instead of what was known last. */
    candidate_action_id: number | null
    candidate_release_name: string | null
    candidate_commit_sha: string | null
    last_action_id: number | null
    last_release_name: string | null
    last_commit_sha: string | null
    last_since: MaybeTimestamp
  }
  /** What a deploy ships to the servers that served the same release before; see model/actions/changes.ts. */
  action_changes: {
    action_id: number
    /** Empty: nothing was live there. */
    from_release: string
    from_action_id: number | null
    from_commit: string | null
    to_commit: string | null
    server_ids: number[]
    comparison: object | null
    reason: string | null
  }
  /** Not part of backups. */
  newest_backup: { only_row: Generated<boolean>; made_at: Timestamp }
  retention_progress: { environment_id: number; logs_before: number }
  retention_totals: {
    only_row: boolean
    bodies_before: string
    runs: number
    logs: number
    requests: number
    bodies: number
    finished_at: MaybeTimestamp
  }
  hook_tokens: { hook_id: string; tokens: number; filled_at: Timestamp }
  counted_action_blocks: { only_row: boolean; next_block: number }
  /** `installation`: identifies this Gantry on the servers that it deploys to. */
  key_check: { only_row: Generated<boolean>; sealed: Buffer; installation: Generated<string> }
  tree_version: { only_row: boolean; version: number }
}

export type RolesTable = Tables['roles']
export type CredentialsTable = Tables['credentials']
export type ServersTable = Tables['servers']
export type ApplicationsTable = Tables['applications']
export type PipelinesTable = Tables['pipelines']
export type PipelineStepsTable = Tables['pipeline_steps']
export type HooksTable = Tables['hooks']
export type ActionsTable = Tables['actions']
export type TargetsTable = Tables['targets']
export type HookHealthTable = Tables['hook_health']
