// Hooks, the calls that they get and the deliveries that they send.
import type { ColumnType, Generated } from 'kysely'
import type { Dated, Json, MaybeJson, MaybeTimestamp, Timestamp } from './columns.ts'

export type HookType = 'incoming' | 'outgoing'

/** What a service shows of a status that was sent to it. */
export type RemoteState = 'matches' | 'repaired' | 'overridden' | 'unknown' | 'not_checked'

export type MissedState = 'waiting' | 'superseded' | 'redelivered' | 'received' | 'found' | 'lost'

export type ConnectionTask = 'connect' | 'rotate' | 'check'

/** Which webhook of which repository, and who asks its host. */
type RemoteWebhook = {
  hook_id: string
  user_id: number
  credential_id: number
  provider: string
  api_url: string
  home_url: string
  repository: string
  webhook_id: string | null
}

export type DeliveryState = 'pending' | 'delivered' | 'failed' | 'superseded' | 'missed' | 'ignored'

export type HookTables = {
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
  hook_tokens: { hook_id: string; tokens: number; filled_at: Timestamp }
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
    /** Of calls to connected hooks. */
    delivery_id: string | null
    pushed_ref: string | null
    pushed_commit: string | null
  }
  refused_calls: { hook_id: string; hour: Timestamp; outcome: string; calls: number }
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
  /** Webhooks at repository hosts; see engine/connecting. */
  hook_connections: RemoteWebhook & {
    events: string[]
    state: Generated<string>
    problem: string | null
    disabled_until: MaybeTimestamp
    checked_at: MaybeTimestamp
    task: Generated<ConnectionTask>
    version: Generated<number>
    overlap_seconds: number | null
    rejected_at: MaybeTimestamp
    has_other_secret: Generated<boolean>
    failures: Generated<number>
    due_at: Timestamp
    leased_until: MaybeTimestamp
    created_at: Timestamp
    calls_read_until: Timestamp
    tries_read_until: Timestamp
    replaced: Buffer | null
    state_since: Timestamp
  }
  /** Of connected hooks: the newest call for each branch. */
  called_branches: {
    hook_id: string
    branch: string
    call_id: string
    commit: string
    finds: Generated<number>
    differs_since: MaybeTimestamp
  }
  /** What connected hooks missed; see engine/catching-up. */
  catch_ups: { id: Generated<number>; hook_id: string; created_at: Timestamp }
  missed_calls: {
    id: Generated<number>
    catch_up_id: number
    hook_id: string
    delivery_id: string
    attempt_id: string | null
    event: string | null
    ref: string | null
    commit: string | null
    missed_at: Timestamp
    state: MissedState
    is_read: Generated<boolean>
    redeliveries: Generated<number>
    redelivered_at: MaybeTimestamp
    request_id: string | null
    created_at: Timestamp
  }
  webhook_removals: RemoteWebhook & {
    id: Generated<number>
    is_authorized: Generated<boolean>
    url_token_hash: Buffer | null
    problem: string | null
    failures: Generated<number>
    due_at: Timestamp
    leased_until: MaybeTimestamp
    created_at: Timestamp
  }
  /** Repositories that are asked for new commits; see engine/polling. */
  hook_polls: {
    hook_id: string
    repository: string | null
    polled_at: MaybeTimestamp
    problem: string | null
    failures: Generated<number>
    due_at: Timestamp
    leased_until: MaybeTimestamp
  }
  polled_refs: {
    hook_id: string
    branch: string
    tip: string
    moves: Generated<number>
    moved_at: MaybeTimestamp
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
}
