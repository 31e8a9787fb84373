// What pipelines run on, and what they consist of.
import type { Generated } from 'kysely'
import type { Operation, ServerKind } from '#platform/vocabulary.ts'
import type { Dated, Id, MaybeJson, MaybeTimestamp, Retained } from './columns.ts'

export type ResourceType = 'application' | 'server'

/** Where a token may be sent: to any allowed address, or to its provider only. */
export type TokenTargets = 'anywhere' | 'provider'

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

/** How long an environment keeps what; null: forever. */
export type Retention = {
  runs_days: number | null
  runs_per_pipeline: number | null
  logs_days: number | null
  requests_days: number | null
}

/** Who may approve: one of these people, or a person with one of these roles. */
export type Approvers = {
  user_ids: number[]
  role_ids: number[]
  roles: ('owner' | 'admin' | 'developer' | 'viewer')[]
}

/** Which checks of its commit a run waits for. */
export type ChecksTerms = {
  /** With `*` as a wildcard; null: all. */
  names: string[] | null
  ignore: string[]
  timeout_minutes: number
  settle_seconds: number
  /** Of a commit without checks. */
  without_checks: 'fail' | 'proceed'
}

/** What runs of an environment need before they start; complete, with its defaults (model/gates/approval-terms.ts). */
export type ApprovalTerms = {
  required: number
  /** Null: everyone with the permission. */
  from: Approvers | null
  not_the_starter: boolean
  expires_after_minutes: number
  /** Null: all. */
  operations: Operation[] | null
  /** Rollbacks, too. */
  rollbacks: boolean
}

export type InventoryTables = {
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
    /** Null: runs need no approval. */
    approval: MaybeJson<ApprovalTerms>
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
    /** Since when its deployments are recorded; null: since it was created. */
    deployments_since: MaybeTimestamp
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
    wait_for_checks: MaybeJson<ChecksTerms>
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
}
