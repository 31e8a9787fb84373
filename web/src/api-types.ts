// Generated from the OpenAPI document by test/pages/api-types.test.ts; do not edit.

export type AcceptInvitationRequest = { token: string; name?: string; password?: string }

export type Action = {
  id: number
  status: 'pending' | 'waiting' | 'queued' | 'in-progress' | 'completed' | 'failed' | 'skipped'
  status_human_readable: string
  status_reason_code:
    | 'PENDING'
    | 'QUEUED'
    | 'WAITING_CONCURRENCY_PIPELINE'
    | 'WAITING_CONCURRENCY_TARGET'
    | 'IN_PROGRESS'
    | 'COMPLETED'
    | 'FAILED'
    | 'FAILED_TIMEOUT'
    | 'FAILED_CANCELLED'
    | 'FAILED_WORKER_LOST'
    | 'FAILED_UNREACHABLE'
    | 'FAILED_SOURCE'
    | 'SKIPPED'
  status_reason_human_readable: string
  type:
    | 'deploy'
    | 'configure'
    | 'provision'
    | 'start'
    | 'stop'
    | 'restart'
    | 'reload'
    | 'get_status'
    | 'rotate_key'
    | 'check_provisioned'
    | 'remove'
    | 'delete'
    | 'custom'
  type_human_readable: string
  url_web_permalink: string
  action_data: ActionData
  triggered_from: TriggeredFrom
  summary: { targets: TargetSummary }
  targets: Array<Target>
  started_at: string | null
  completed_at: string | null
  created_at: string
  updated_at: string
  trigger_comment: string | null
  resource: ActionResource
  organization: Organization
  project: Project
  environment: Environment
  pipeline_id: number
  retry_of: number | null
  parent: ActionRef | null
  children: Array<ActionRef>
  triggered_by_user: User | null
  hook_requests: { incoming: HookRequest | null; outgoing: HookRequest | null }
}

export type ActionData = { release_name: string | null; commit: Commit | null; deployment: Deployment | null }

export type ActionListItem = {
  id: number
  status: 'pending' | 'waiting' | 'queued' | 'in-progress' | 'completed' | 'failed' | 'skipped'
  status_human_readable: string
  status_reason_code:
    | 'PENDING'
    | 'QUEUED'
    | 'WAITING_CONCURRENCY_PIPELINE'
    | 'WAITING_CONCURRENCY_TARGET'
    | 'IN_PROGRESS'
    | 'COMPLETED'
    | 'FAILED'
    | 'FAILED_TIMEOUT'
    | 'FAILED_CANCELLED'
    | 'FAILED_WORKER_LOST'
    | 'FAILED_UNREACHABLE'
    | 'FAILED_SOURCE'
    | 'SKIPPED'
  status_reason_human_readable: string
  type:
    | 'deploy'
    | 'configure'
    | 'provision'
    | 'start'
    | 'stop'
    | 'restart'
    | 'reload'
    | 'get_status'
    | 'rotate_key'
    | 'check_provisioned'
    | 'remove'
    | 'delete'
    | 'custom'
  type_human_readable: string
  url_web_permalink: string
  action_data: ActionData
  triggered_from: TriggeredFrom
  summary: { targets: TargetSummary }
  targets: Array<Target>
  started_at: string | null
  completed_at: string | null
  created_at: string
  updated_at: string
  trigger_comment: string | null
  resource: ActionResource
  organization: Organization
  project: Project
  environment: Environment
}

export type ActionMove = {
  action_id: number
  environment_id: number
  pipeline_id: number
  previous_status:
    | 'pending'
    | 'waiting'
    | 'queued'
    | 'in-progress'
    | 'completed'
    | 'failed'
    | 'skipped'
    | null
  status: 'pending' | 'waiting' | 'queued' | 'in-progress' | 'completed' | 'failed' | 'skipped'
  status_human_readable: string
  status_reason_code:
    | 'PENDING'
    | 'QUEUED'
    | 'WAITING_CONCURRENCY_PIPELINE'
    | 'WAITING_CONCURRENCY_TARGET'
    | 'IN_PROGRESS'
    | 'COMPLETED'
    | 'FAILED'
    | 'FAILED_TIMEOUT'
    | 'FAILED_CANCELLED'
    | 'FAILED_WORKER_LOST'
    | 'FAILED_UNREACHABLE'
    | 'FAILED_SOURCE'
    | 'SKIPPED'
  status_reason_human_readable: string
  occurred_at: string
}

export type ActionRef = {
  id: number
  status: 'pending' | 'waiting' | 'queued' | 'in-progress' | 'completed' | 'failed' | 'skipped'
  status_human_readable: string
  type:
    | 'deploy'
    | 'configure'
    | 'provision'
    | 'start'
    | 'stop'
    | 'restart'
    | 'reload'
    | 'get_status'
    | 'rotate_key'
    | 'check_provisioned'
    | 'remove'
    | 'delete'
    | 'custom'
  type_human_readable: string
  resource_name: string
  resource_type: string
  resource_type_human_readable: string
  url_web_permalink: string
}

export type ActionResource = {
  id: number
  type: 'application' | 'server'
  type_human_readable: string
  data: Application | ServerResource
}

export type ActionSummary = {
  id: number
  status: 'pending' | 'waiting' | 'queued' | 'in-progress' | 'completed' | 'failed' | 'skipped'
  status_human_readable: string
  status_reason_code:
    | 'PENDING'
    | 'QUEUED'
    | 'WAITING_CONCURRENCY_PIPELINE'
    | 'WAITING_CONCURRENCY_TARGET'
    | 'IN_PROGRESS'
    | 'COMPLETED'
    | 'FAILED'
    | 'FAILED_TIMEOUT'
    | 'FAILED_CANCELLED'
    | 'FAILED_WORKER_LOST'
    | 'FAILED_UNREACHABLE'
    | 'FAILED_SOURCE'
    | 'SKIPPED'
  status_reason_human_readable: string
  type:
    | 'deploy'
    | 'configure'
    | 'provision'
    | 'start'
    | 'stop'
    | 'restart'
    | 'reload'
    | 'get_status'
    | 'rotate_key'
    | 'check_provisioned'
    | 'remove'
    | 'delete'
    | 'custom'
  type_human_readable: string
  url_web_permalink: string
  action_data: ActionData
  triggered_from: TriggeredFrom
  summary: { targets: TargetSummary }
  targets: Array<Target>
  started_at: string | null
  completed_at: string | null
  created_at: string
  updated_at: string
}

export type ActiveSession = {
  id: number
  kind: 'browser' | 'api'
  current: boolean
  ip_address: string | null
  user_agent: string | null
  created_at: string
  last_used_at: string
  expires_at: string
}

export type Application = {
  id: number
  project_id: number
  environment_id: number
  created_by: number
  name: string
  repository: string
  repository_name: string | null
  repository_owner: string | null
  default_branch: string
  programming_language: string | null
  programming_language_human_readable: string | null
  engine_version: string | null
  framework: string | null
  framework_human_readable: string | null
  root_directory: string | null
  install_dependencies_command: string | null
  build_command: string | null
  deployments_keep: number
  last_deployments: { latest: ActionSummary | null; live: ActionSummary | null }
  credential: Credential | null
  created_at: string
  updated_at: string
}

export type ApplicationRecord = {
  id: number
  project_id: number
  environment_id: number
  created_by: number
  name: string
  repository: string
  repository_name: string | null
  repository_owner: string | null
  default_branch: string
  programming_language: string | null
  programming_language_human_readable: string | null
  engine_version: string | null
  framework: string | null
  framework_human_readable: string | null
  root_directory: string | null
  install_dependencies_command: string | null
  build_command: string | null
  deployments_keep: number
  last_deployments: { latest: ActionSummary | null; live: ActionSummary | null }
  credential: Credential | null
  created_at: string
  updated_at: string
  folder: string
  shared_paths: Array<string>
  linked_resources: Array<LinkedResource>
}

export type BeginSingleSignOnRequest = { invitation_token?: string }

export type BrowserDestination = { url: string }

export type ChangeMeRequest = { name?: string; language?: string }

export type ChangePasswordRequest = { current_password: string; new_password: string }

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

export type CreatePersonalAccessTokenRequest = {
  name: string
  scopes?: Array<'read' | 'run' | 'hooks' | 'manage'> | null
  organization_ids?: Array<number> | null
  project_ids?: Array<number> | null
  expires_at?: string | null
}

export type Credential = {
  id: number
  name: string
  provider: {
    active: boolean
    code: string
    code_human_readable: string
    type: string
    type_human_readable: string
  }
  provider_type: string
  provider_type_human_readable: string
  provider_auth_type: string
  provider_auth_type_human_readable: string
  active: boolean
  organization: Organization
  created_by_user: User
  last_action: ActionSummary | null
  created_at: string
  updated_at: string
}

export type Deployment = {
  type: string
  source_type: string | null
  source_ref: string | null
  repository: string | null
  provider_name: string | null
  pipeline_id: number
}

export type EmptyRequest = Record<string, never>

export type Environment = {
  id: number
  type: 'development' | 'staging' | 'production'
  type_human_readable: string
  name: string
  description: string | null
  used_credits: number
  resource_summary: Array<ResourceSummary>
  created_at: string
  updated_at: string
  archived_at: string | null
  project: Project
}

export type Error = {
  message: string
  errors: Record<string, Array<string>> | null
  code: string
  request_id: string
}

export type FailingHook = {
  hook_id: string
  name: string
  pipeline_id: number
  environment_id: number
  failing_since: string | null
  failures_in_a_row: number
  open_until: string | null
  disabled_at: string | null
  disabled_reason: string | null
}

export type Grant = {
  id: number
  role: 'owner' | 'admin' | 'developer' | 'viewer' | null
  role_id: number | null
  role_name: string
  project_id: number | null
  environment_id: number | null
  source: 'manual' | 'oidc'
  created_at: string
}

export type Hook = {
  id: string
  name: string
  type: 'incoming' | 'outgoing'
  action_type: string
  active: boolean
  url: string | null
  target_url: string | null
  requires_secret: boolean | null
  verify_ssl: boolean | null
  secret: string | null
  secret_algorithm: string | null
  secret_header_name: string | null
  settings: Record<string, unknown>
  trigger_when: Record<string, unknown>
  disabled_at: string | null
  disabled_reason: string | null
  pipeline_id: number
  resource_type: 'application' | 'server'
  resource_id: number
  project_id: number
  environment_id: number
  created_by_user: User
  created_at: string
  updated_at: string
}

export type HookRequest = {
  id: string
  hook_id: string
  action_id: number | null
  retry_of: string | null
  ip_address: string | null
  url: string
  response_status_code: number | null
  created_at: string
  updated_at: string
}

export type HookRequestDetail = {
  id: string
  hook_id: string
  action_id: number | null
  retry_of: string | null
  ip_address: string | null
  url: string
  response_status_code: number | null
  created_at: string
  updated_at: string
  type: 'incoming' | 'outgoing'
  method: string
  outcome: string
  duration_ms: number | null
  next_attempt_at: string | null
  attempt: number | null
  error: string | null
  signature_problem: 'header_missing' | 'prefix' | 'encoding' | 'mismatch' | 'timestamp' | null
  body_bytes: number | null
  request_headers: Record<string, unknown> | null
  request_body: string | null
  request_body_encoding: 'utf-8' | 'base64'
  response_headers: Record<string, unknown> | null
  response_body: string | null
  response_body_encoding: 'utf-8' | 'base64'
}

export type HookRequestRecord = {
  id: string
  hook_id: string
  action_id: number | null
  retry_of: string | null
  ip_address: string | null
  url: string
  response_status_code: number | null
  created_at: string
  updated_at: string
  type: 'incoming' | 'outgoing'
  method: string
  outcome: string
  duration_ms: number | null
  next_attempt_at: string | null
  attempt: number | null
  error: string | null
}

export type Identity = {
  id: number
  issuer: string
  label: string
  created_at: string
  last_used_at: string | null
}

export type Invitation = {
  id: number
  organization_id: number
  email: string
  name: string | null
  grants: Array<OfferedGrant>
  created_by_user: User
  created_at: string
  expires_at: string
  url: string | null
}

export type LinkedResource = { resource_type: 'server'; resource_id: number }

export type LogInRequest = { email: string; password: string }

export type LogText = { target_id: number; step_order: number; offset: number; text: string }

export type Member = {
  user_id: number
  user: User
  grants: Array<Grant>
  has_joined: boolean
  invitation_expires_at: string | null
  invitation_url: string | null
}

export type OfferedGrant = {
  role: 'owner' | 'admin' | 'developer' | 'viewer' | null
  role_id: number | null
  role_name: string
  project_id: number | null
  environment_id: number | null
}

export type Organization = {
  id: number
  name: string
  url_slug: string
  resource_summary: Array<ResourceSummary>
  owner: User
  created_at: string
  updated_at: string
}

export type Overview = {
  running: Array<OverviewRun>
  failures: Array<OverviewRun>
  runs_per_day: Array<{ date: string; completed: number; failed: number; skipped: number }>
  median_duration_seconds_per_day: Array<{ date: string; seconds: number | null }>
  deliveries: OverviewDeliveries
  workers: { alive: number }
  queue: { depths: Array<{ job: string; ready: number; deferred: number; active: number; dead: number }> }
}

export type OverviewDeliveries = { failing: Array<FailingHook>; pending: number; failed_last_day: number }

export type OverviewRun = {
  id: number
  status: 'pending' | 'waiting' | 'queued' | 'in-progress' | 'completed' | 'failed' | 'skipped'
  status_human_readable: string
  status_reason_code:
    | 'PENDING'
    | 'QUEUED'
    | 'WAITING_CONCURRENCY_PIPELINE'
    | 'WAITING_CONCURRENCY_TARGET'
    | 'IN_PROGRESS'
    | 'COMPLETED'
    | 'FAILED'
    | 'FAILED_TIMEOUT'
    | 'FAILED_CANCELLED'
    | 'FAILED_WORKER_LOST'
    | 'FAILED_UNREACHABLE'
    | 'FAILED_SOURCE'
    | 'SKIPPED'
  status_reason_human_readable: string
  type:
    | 'deploy'
    | 'configure'
    | 'provision'
    | 'start'
    | 'stop'
    | 'restart'
    | 'reload'
    | 'get_status'
    | 'rotate_key'
    | 'check_provisioned'
    | 'remove'
    | 'delete'
    | 'custom'
  type_human_readable: string
  resource_id: number
  resource_name: string
  resource_type: 'application' | 'server'
  resource_type_human_readable: string
  pipeline: { id: number; name: string }
  environment: { id: number; name: string; type: string }
  project: { id: number; name: string }
  organization: { id: number; name: string }
  trigger_type: string
  trigger_name: string | null
  url_web_permalink: string
  started_at: string | null
  completed_at: string | null
  created_at: string
}

export type PasswordReset = { email: string; expires_at: string }

export type PersonalAccessToken = {
  id: number
  name: string
  scopes: Array<'read' | 'run' | 'hooks' | 'manage'> | null
  organization_ids: Array<number> | null
  project_ids: Array<number> | null
  expires_at: string | null
  last_used_at: string | null
  last_used_ip: string | null
  created_at: string
}

export type PersonalAccessTokenWithToken = {
  id: number
  name: string
  scopes: Array<'read' | 'run' | 'hooks' | 'manage'> | null
  organization_ids: Array<number> | null
  project_ids: Array<number> | null
  expires_at: string | null
  last_used_at: string | null
  last_used_ip: string | null
  created_at: string
  token: string
}

export type Pipeline = {
  id: number
  name: string
  operation:
    | 'deploy'
    | 'configure'
    | 'provision'
    | 'start'
    | 'stop'
    | 'restart'
    | 'reload'
    | 'get_status'
    | 'rotate_key'
    | 'check_provisioned'
    | 'remove'
    | 'delete'
    | 'custom'
  operation_human_readable: string
  resource_type: 'application' | 'server'
  resource_type_human_readable: string
  resource_id: number
  environment_id: number
  project_id: number
  max_parallel_actions: number
  queue_policy: 'queue' | 'latest' | 'reject'
  rollout: { batch: number | string; max_failed: number } | null
  run_after: Array<number>
  steps: Array<PipelineStep>
  created_by_user: User
  created_at: string
  updated_at: string
}

export type PipelineStep = {
  id: number
  name: string
  description: string | null
  built_in: boolean
  command: string | null
  run_as_user: string | null
  timeout_seconds: number
  idempotent: boolean
  order: number
  created_at: string
  updated_at: string
}

export type Project = {
  id: number
  user_id: number
  name: string
  logo_url: string | null
  resource_summary: Array<ResourceSummary>
  os_users: Array<{ name: string }>
  organization: Organization
  created_by_user: User
  used_credits: number
  created_at: string
  updated_at: string
}

export type ReadInvitationRequest = { token: string }

export type ReadPasswordResetRequest = { token: string }

export type ResetPasswordRequest = { token: string; password: string }

export type ResourceSummary = {
  resource_type: string
  resource_type_plural: string
  resource_type_human_readable: string
  resource_type_human_readable_plural: string
  summary: { count: number }
}

export type Role = {
  id: number
  organization_id: number
  name: string
  permissions: Array<string>
  created_at: string
  updated_at: string
}

export type RunPlan = {
  targets: Array<{
    resource_type: 'server'
    resource_id: number
    resource_data: ServerResource
    batch: number
    steps: Array<{
      order: number
      name: string
      description: string | null
      built_in: boolean
      command: string | null
      run_as_user: string | null
      timeout_seconds: number
      idempotent: boolean
    }>
  }>
  source: {
    type: string
    source_type: string | null
    source_ref: string | null
    repository: string | null
    commit_hash: string | null
    release_name: string | null
  } | null
  would_wait: string | null
  would_wait_human_readable: string | null
  variables: Record<string, unknown>
}

export type RunRequest = {
  servers?: Array<number>
  type?: 'deploy' | 'redeploy' | 'rollback'
  source_type?: 'branch' | 'tag' | 'commit'
  source_ref?: string
  trigger_comment?: string
  variables?: Record<string, string | number | boolean | Array<unknown>>
}

export type Server = {
  id: number
  name: string
  environment_id: number
  project_id: number
  provider_type: string
  provider_code: 'local' | 'ssh'
  provider_name: string
  provider_name_human_readable: string
  host: string | null
  port: number | null
  login_name: string | null
  credential_id: number | null
  host_key: string | null
  host_key_fingerprint: string | null
  root_directory: string
  max_parallel_actions: number
  linked_resources: Array<{ resource_type: 'application'; resource_id: number }>
  created_by_user: User
  created_at: string
  updated_at: string
}

export type ServerResource = {
  id: number
  name: string
  provider_type: string
  provider_code: 'local' | 'ssh'
  provider_name: string
  provider_name_human_readable: string
}

export type Session = { user: User; expires_at: string | null }

export type ShownInvitation = {
  organization_name: string
  email: string
  name: string | null
  grants: Array<{ role_name: string; project_name: string | null; environment_name: string | null }>
  account: 'new' | 'existing'
  expires_at: string
}

export type SignInOptions = { password: boolean; oidc: { label: string } | null }

export type SignedIn = {
  user: User
  access_token: string | null
  token_type: 'bearer' | null
  expires_in: number | null
  refresh_token: string | null
}

export type Step = {
  id: number
  action_id: number
  action_target_id: number
  name: string
  description: string | null
  order: number
  status: 'pending' | 'waiting' | 'queued' | 'in-progress' | 'completed' | 'failed' | 'skipped'
  status_human_readable: string
  status_reason_code:
    | 'PENDING'
    | 'QUEUED'
    | 'WAITING_CONCURRENCY_PIPELINE'
    | 'WAITING_CONCURRENCY_TARGET'
    | 'IN_PROGRESS'
    | 'COMPLETED'
    | 'FAILED'
    | 'FAILED_TIMEOUT'
    | 'FAILED_CANCELLED'
    | 'FAILED_WORKER_LOST'
    | 'FAILED_UNREACHABLE'
    | 'FAILED_SOURCE'
    | 'SKIPPED'
  status_reason_human_readable: string
  started_at: string | null
  completed_at: string | null
  created_at: string
  updated_at: string
}

export type StepLog = {
  step: { order: number; started_at: string | null; completed_at: string | null; output: string }
  target: Target
  updated_at: string
}

export type StepMove = {
  target_id: number
  step_order: number
  previous_status: 'pending' | 'waiting' | 'queued' | 'in-progress' | 'completed' | 'failed' | 'skipped'
  status: 'pending' | 'waiting' | 'queued' | 'in-progress' | 'completed' | 'failed' | 'skipped'
  status_human_readable: string
  status_reason_code:
    | 'PENDING'
    | 'QUEUED'
    | 'WAITING_CONCURRENCY_PIPELINE'
    | 'WAITING_CONCURRENCY_TARGET'
    | 'IN_PROGRESS'
    | 'COMPLETED'
    | 'FAILED'
    | 'FAILED_TIMEOUT'
    | 'FAILED_CANCELLED'
    | 'FAILED_WORKER_LOST'
    | 'FAILED_UNREACHABLE'
    | 'FAILED_SOURCE'
    | 'SKIPPED'
  status_reason_human_readable: string
  occurred_at: string
}

export type StreamEnd = {
  action_id: number
  status: 'pending' | 'waiting' | 'queued' | 'in-progress' | 'completed' | 'failed' | 'skipped'
  status_human_readable: string
  status_reason_code:
    | 'PENDING'
    | 'QUEUED'
    | 'WAITING_CONCURRENCY_PIPELINE'
    | 'WAITING_CONCURRENCY_TARGET'
    | 'IN_PROGRESS'
    | 'COMPLETED'
    | 'FAILED'
    | 'FAILED_TIMEOUT'
    | 'FAILED_CANCELLED'
    | 'FAILED_WORKER_LOST'
    | 'FAILED_UNREACHABLE'
    | 'FAILED_SOURCE'
    | 'SKIPPED'
  status_reason_human_readable: string
}

export type Target = {
  id: number
  resource_type: 'application' | 'server'
  resource_type_human_readable: string
  resource_id: number
  status: 'pending' | 'waiting' | 'queued' | 'in-progress' | 'completed' | 'failed' | 'skipped'
  status_human_readable: string
  status_reason_code:
    | 'PENDING'
    | 'QUEUED'
    | 'WAITING_CONCURRENCY_PIPELINE'
    | 'WAITING_CONCURRENCY_TARGET'
    | 'IN_PROGRESS'
    | 'COMPLETED'
    | 'FAILED'
    | 'FAILED_TIMEOUT'
    | 'FAILED_CANCELLED'
    | 'FAILED_WORKER_LOST'
    | 'FAILED_UNREACHABLE'
    | 'FAILED_SOURCE'
    | 'SKIPPED'
  status_reason_human_readable: string
  total_steps: number
  current_step: Step | null
  steps: Array<Step>
  resource_data: ServerResource
  started_at: string | null
  completed_at: string | null
  created_at: string
  updated_at: string
}

export type TargetMove = {
  target_id: number
  previous_status: 'pending' | 'waiting' | 'queued' | 'in-progress' | 'completed' | 'failed' | 'skipped'
  status: 'pending' | 'waiting' | 'queued' | 'in-progress' | 'completed' | 'failed' | 'skipped'
  status_human_readable: string
  status_reason_code:
    | 'PENDING'
    | 'QUEUED'
    | 'WAITING_CONCURRENCY_PIPELINE'
    | 'WAITING_CONCURRENCY_TARGET'
    | 'IN_PROGRESS'
    | 'COMPLETED'
    | 'FAILED'
    | 'FAILED_TIMEOUT'
    | 'FAILED_CANCELLED'
    | 'FAILED_WORKER_LOST'
    | 'FAILED_UNREACHABLE'
    | 'FAILED_SOURCE'
    | 'SKIPPED'
  status_reason_human_readable: string
  occurred_at: string
}

export type TargetSummary = {
  count: number
  pending: number
  in_progress: number
  completed: number
  failed: number
}

export type TriggeredFrom = {
  origin: string | null
  trigger_type: string
  name: string | null
  email: string | null
  ip_address: string | null
  user_id: number | null
  hook_id: string | null
  hook_request_id: string | null
  hook_parsed_variables: Record<string, unknown>
}

export type User = {
  id: number
  name: string
  email: string
  url_slug: string
  language: string
  active: boolean
  created_at: string
  updated_at: string
}

export type Operations = {
  'POST /session': {
    path: undefined
    query: undefined
    body: LogInRequest
    answer: Session
  }
  'GET /session': {
    path: undefined
    query: undefined
    body: undefined
    answer: Session
  }
  'DELETE /session': {
    path: undefined
    query: undefined
    body: undefined
    answer: null
  }
  'GET /session/options': {
    path: undefined
    query: undefined
    body: undefined
    answer: SignInOptions
  }
  'POST /session/oidc': {
    path: undefined
    query: undefined
    body: BeginSingleSignOnRequest
    answer: BrowserDestination
  }
  'GET /users/me/identities': {
    path: undefined
    query: undefined
    body: undefined
    answer: Array<Identity>
  }
  'POST /users/me/identities': {
    path: undefined
    query: undefined
    body: undefined
    answer: BrowserDestination
  }
  'DELETE /users/me/identities/{id}': {
    path: { id: number }
    query: undefined
    body: undefined
    answer: null
  }
  'PUT /users/me': {
    path: undefined
    query: undefined
    body: ChangeMeRequest
    answer: User
  }
  'POST /users/me/password': {
    path: undefined
    query: undefined
    body: ChangePasswordRequest
    answer: null
  }
  'GET /users/me/sessions': {
    path: undefined
    query: { page?: number; per_page?: number }
    body: undefined
    answer: Array<ActiveSession>
  }
  'DELETE /users/me/sessions/{id}': {
    path: { id: number }
    query: undefined
    body: undefined
    answer: null
  }
  'POST /users/me/sessions/end-all': {
    path: undefined
    query: undefined
    body: undefined
    answer: null
  }
  'GET /users/personal-access-tokens': {
    path: undefined
    query: { page?: number; per_page?: number }
    body: undefined
    answer: Array<PersonalAccessToken>
  }
  'POST /users/personal-access-tokens': {
    path: undefined
    query: undefined
    body: CreatePersonalAccessTokenRequest
    answer: PersonalAccessTokenWithToken
  }
  'DELETE /users/personal-access-tokens/{id}': {
    path: { id: number }
    query: undefined
    body: undefined
    answer: null
  }
  'POST /users/read-password-reset': {
    path: undefined
    query: undefined
    body: ReadPasswordResetRequest
    answer: PasswordReset
  }
  'POST /users/reset-password': {
    path: undefined
    query: undefined
    body: ResetPasswordRequest
    answer: SignedIn
  }
  'POST /users/read-invitation': {
    path: undefined
    query: undefined
    body: ReadInvitationRequest
    answer: ShownInvitation
  }
  'POST /users/accept-invitation': {
    path: undefined
    query: undefined
    body: AcceptInvitationRequest
    answer: SignedIn
  }
  'GET /overview': {
    path: undefined
    query: {
      'filter[organization_id]'?: string
      'filter[project_id]'?: string
      'filter[environment_id]'?: string
    }
    body: undefined
    answer: Overview
  }
  'GET /actions': {
    path: undefined
    query: {
      page?: number
      per_page?: number
      'filter[organization_id]'?: string
      'filter[project_id]'?: string
      'filter[environment_id]'?: string
      'filter[pipeline_id]'?: string
      'filter[resource_type]'?: string
      'filter[resource_id]'?: string
      'filter[status]'?: string
      'filter[type]'?: string
      'filter[operation]'?: string
      'filter[trigger_type]'?: string
      'filter[hook_id]'?: string
      'filter[created_after]'?: string
      'filter[created_before]'?: string
    }
    body: undefined
    answer: Array<ActionListItem>
  }
  'GET /actions/{action_id}': {
    path: { action_id: number }
    query: undefined
    body: undefined
    answer: Action
  }
  'GET /actions/{id}/hook-requests': {
    path: { id: number }
    query: { page?: number; per_page?: number }
    body: undefined
    answer: Array<HookRequestRecord>
  }
  'GET /actions/{action_id}/targets/{target_id}/steps/{order}/logs': {
    path: { action_id: number; target_id: number; order: number }
    query: { after?: number }
    body: undefined
    answer: StepLog
  }
  'POST /actions/{id}/retry': {
    path: { id: number }
    query: undefined
    body: EmptyRequest
    answer: Action
  }
  'POST /actions/{id}/cancel': {
    path: { id: number }
    query: undefined
    body: EmptyRequest
    answer: Action
  }
  'GET /organizations': {
    path: undefined
    query: { page?: number; per_page?: number; 'filter[name]'?: string }
    body: undefined
    answer: Array<Organization>
  }
  'GET /organizations/{id}/projects': {
    path: { id: number }
    query: { page?: number; per_page?: number; 'filter[name]'?: string }
    body: undefined
    answer: Array<Project>
  }
  'GET /projects/{id}': {
    path: { id: number }
    query: undefined
    body: undefined
    answer: Project
  }
  'GET /projects/{id}/environments': {
    path: { id: number }
    query: { page?: number; per_page?: number; 'filter[name]'?: string }
    body: undefined
    answer: Array<Environment>
  }
  'GET /environments/{id}': {
    path: { id: number }
    query: undefined
    body: undefined
    answer: Environment
  }
  'GET /environments/{id}/applications': {
    path: { id: number }
    query: { page?: number; per_page?: number; 'filter[name]'?: string }
    body: undefined
    answer: Array<ApplicationRecord>
  }
  'GET /environments/{id}/servers': {
    path: { id: number }
    query: { page?: number; per_page?: number; 'filter[name]'?: string }
    body: undefined
    answer: Array<Server>
  }
  'GET /pipelines/application/{resource_id}': {
    path: { resource_id: number }
    query: { page?: number; per_page?: number; 'filter[name]'?: string }
    body: undefined
    answer: Array<Pipeline>
  }
  'GET /pipelines/server/{resource_id}': {
    path: { resource_id: number }
    query: { page?: number; per_page?: number; 'filter[name]'?: string }
    body: undefined
    answer: Array<Pipeline>
  }
  'GET /pipelines/{id}': {
    path: { id: number }
    query: undefined
    body: undefined
    answer: Pipeline
  }
  'GET /pipelines/{id}/hooks': {
    path: { id: number }
    query: {
      page?: number
      per_page?: number
      'filter[type]'?: 'incoming' | 'outgoing'
      'filter[active]'?: boolean
    }
    body: undefined
    answer: Array<Hook>
  }
  'POST /pipelines/{id}/actions': {
    path: { id: number }
    query: undefined
    body: RunRequest
    answer: Action
  }
  'POST /pipelines/{id}/plan': {
    path: { id: number }
    query: undefined
    body: RunRequest
    answer: RunPlan
  }
  'GET /hooks/incoming/{hook_id}': {
    path: { hook_id: string }
    query: undefined
    body: undefined
    answer: Hook
  }
  'GET /hooks/outgoing/{hook_id}': {
    path: { hook_id: string }
    query: undefined
    body: undefined
    answer: Hook
  }
  'GET /hooks/incoming/{hook_id}/requests': {
    path: { hook_id: string }
    query: { page?: number; per_page?: number }
    body: undefined
    answer: Array<HookRequestRecord>
  }
  'GET /hooks/outgoing/{hook_id}/requests': {
    path: { hook_id: string }
    query: { page?: number; per_page?: number }
    body: undefined
    answer: Array<HookRequestRecord>
  }
  'GET /hook-requests/{id}': {
    path: { id: string }
    query: undefined
    body: undefined
    answer: HookRequestDetail
  }
  'GET /organizations/{id}/members': {
    path: { id: number }
    query: { page?: number; per_page?: number; 'filter[name]'?: string }
    body: undefined
    answer: Array<Member>
  }
  'GET /organizations/{id}/members/{user_id}': {
    path: { id: number; user_id: number }
    query: undefined
    body: undefined
    answer: Member
  }
  'GET /organizations/{id}/invitations': {
    path: { id: number }
    query: { page?: number; per_page?: number; 'filter[name]'?: string }
    body: undefined
    answer: Array<Invitation>
  }
  'DELETE /organizations/{id}/invitations/{invitation_id}': {
    path: { id: number; invitation_id: number }
    query: undefined
    body: undefined
    answer: null
  }
  'GET /organizations/{id}/roles': {
    path: { id: number }
    query: { page?: number; per_page?: number; 'filter[name]'?: string }
    body: undefined
    answer: Array<Role>
  }
}
