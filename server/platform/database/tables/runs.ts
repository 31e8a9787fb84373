// Runs, what came of them, and where.
import type { ColumnType, Generated } from 'kysely'
import type { Gate, GateEvent, ReasonCode, Status } from '#platform/vocabulary.ts'
import type { Dated, Id, Json, MaybeJson, MaybeTimestamp, Timestamp } from './columns.ts'

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

/** `release`: null when nothing was live. The rest is null when Gantry does not know the release. */
export type LiveBefore = { release: string | null; action_id: number | null; commit_sha: string | null }

export type RunTables = {
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
    /** The closed gate that it waits at; it has no slot then. */
    gate: Generated<Gate | null>
    /** The branch that it was started for; see model/actions/start-actions.ts. */
    branch: Generated<string | null>
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
    /** The closed gate that it waits at, invisible to what assigns slots. */
    gate: Generated<Gate | null>
    attempt: Generated<number>
    attempt_key: string | null
    /** How many of its attempts continued a detached step: they do not count. */
    reattached: Generated<number>
    release_name: string | null
    /** What its server served before this target activated its release; null until then. */
    live_before: MaybeJson<LiveBefore>
    /** The worker that made the last attempt. */
    worker_name: string | null
    started_at: MaybeTimestamp
    completed_at: MaybeTimestamp
  }
  /** Steps that run, or may run, on their server by themselves; see engine/scheduling/detached-steps.ts. */
  detached_steps: {
    token: string
    target_id: number
    step_order: number
    server_id: number
    /** The one that owns the step: an older release owned it last if the target has another. */
    attempt: number
    run_as_user: string | null
    /** Where its output begins in the log of the step. */
    log_from: Generated<number>
    /** Where the server keeps its state; null until it may have been started. */
    state_path: string | null
    /** When the server last renewed its lease; null while an attempt follows it. */
    acknowledged_at: MaybeTimestamp
    /** Its result is stored, or it was given up: what the server keeps of it can go. */
    ended_at: MaybeTimestamp
  }
  /** Servers on which steps end with the connection, and why; see model/detached. */
  attached_servers: { server_id: number; reason: string }
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
    /** Where the output of a detached step continues behind it; null for other text. See engine/step-logs. */
    raw_offset: Generated<number | null>
    raw_skip: Generated<number | null>
    created_at: Timestamp
  }
  events: {
    id: Id
    action_id: number
    previous_status: Status | null
    status: Status
    status_reason_code: ReasonCode
    occurred_at: Timestamp
    gate_event: Generated<GateEvent | null>
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
  action_blocks: {
    block: number
    environment_id: number
    actions: number
    first_created_at: Timestamp
    last_created_at: Timestamp
  }
  counted_action_blocks: { only_row: boolean; next_block: number }
  /** Runs that have ended, by day (UTC); see engine/counts/run-days.ts. */
  run_days: { environment_id: number; day: string; status: Status; duration_class: number; runs: number }
  counted_runs: { only_row: boolean; until: string }
  used_credits: { environment_id: number; month: string; target_runs: number }
  credential_uses: { credential_id: number; action_id: number }
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
    /** Its release continues detached steps. */
    reattaches: Generated<boolean>
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
  /** Runs that switched servers; see model/live/deployments.ts. They stay when retention removes the runs. */
  deployments: {
    action_id: number
    application_id: number
    environment_id: number
    is_rollback: boolean
    commit_sha: string | null
    /** Null when unknown, or no date. */
    committed_at: MaybeTimestamp
    /** At least one of the servers served another commit before. */
    has_new_commit: boolean
    /** In the order of activation. */
    server_ids: number[]
    reverted_server_ids: Generated<number[]>
    first_activated_at: Timestamp
    last_activated_at: Timestamp
    /** The last revert. */
    reverted_at: MaybeTimestamp
    /** The reason with which the run ended; null until then. */
    result: ReasonCode | null
    ended_at: MaybeTimestamp
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
}
