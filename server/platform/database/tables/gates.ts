// What holds runs back, and who let them through.
import type { Generated } from 'kysely'
import type { Gate, Weekday } from '#platform/vocabulary.ts'
import type { Dated, Id, Json, MaybeJson, MaybeTimestamp, Timestamp } from './columns.ts'
import type { ApprovalTerms, ChecksTerms } from './inventory.ts'

/** A time of the week on the clocks of a time zone; `time` is HH:MM. */
export type TimeOfWeek = { day: Weekday; time: string }
export type Weekly = { from: TimeOfWeek; to: TimeOfWeek }

/** Null: nothing is live there. */
export type LiveByServer = Record<string, { release: string; commit: string | null } | 'unknown' | null>

/** A check of a commit, whatever its host calls it. */
export type StoredCheck = {
  /** The same check keeps its key; a second one of the same name has another. */
  key: string
  name: string
  /** As the host reports it. */
  reported: string
  link: string | null
  /** Since when it has that state, if the host says so. */
  since: string | null
  /** GitHub: checks of one app belong to a suite, which may still get more of them. */
  suite?: string
  /** It is such a suite, and no check. */
  isSuite?: true
}

export type ShownCheck = Pick<StoredCheck, 'name' | 'reported' | 'link' | 'since'> & {
  state: 'waiting' | 'green' | 'red'
}

/** What a run's checks were when it left the gate. */
export type ChecksResult = {
  state: 'open' | 'failed'
  message: string | null
  /** The one that it waited for, or that is red. */
  holding: ShownCheck | null
  checks: ShownCheck[]
  total: number
  commit: string | null
  notice: string | null
}

export type GateTables = {
  freezes: Dated & {
    id: Id
    organization_id: number
    /** Null: every environment of the organization. */
    environment_id: number | null
    name: string
    reason: string
    starts_at: MaybeTimestamp
    ends_at: MaybeTimestamp
    weekly: MaybeJson<Weekly>
    time_zone: string | null
    when_over: Generated<'all' | 'latest'>
    created_by: number
  }
  /** The settings that an environment had; the last one has no end. */
  approval_terms: {
    id: Id
    environment_id: number
    terms: Json<ApprovalTerms>
    since: Timestamp
    until: MaybeTimestamp
  }
  approval_requests: {
    action_id: number
    environment_id: number
    pipeline_id: number
    /** The key of the hashes in the subject. */
    salt: Generated<string>
    /** Null until a worker has found out what ships. */
    subject: string | null
    /** Of what the subject covers, as the lock compares it. */
    stamp: string | null
    /** By server: what it served when people saw what ships, and when that was last compared. */
    shown: MaybeJson<LiveByServer>
    verified: MaybeJson<LiveByServer>
    /** Lower case: of everyone who wrote or committed what ships, for runs of hooks. */
    author_emails: Generated<string[]>
    /** Why its source could not be found; while it is due, why it was not found so far. */
    problem: string | null
    asked_at: MaybeTimestamp
    expires_at: MaybeTimestamp
    approved_at: MaybeTimestamp
    /** When a worker looks at it next; null: nothing to find out. */
    due_at: MaybeTimestamp
    /** A person looks at it: it is the next one that workers look at. */
    is_watched: Generated<boolean>
    created_at: Timestamp
  }
  approvals: {
    id: Id
    action_id: number
    user_id: number
    decision: 'approved' | 'rejected'
    subject: string
    comment: string | null
    created_at: Timestamp
    lapsed_at: MaybeTimestamp
  }
  /** The settings that a pipeline had; the last one has no end. */
  checks_terms: {
    id: Id
    pipeline_id: number
    terms: Json<ChecksTerms>
    since: Timestamp
    until: MaybeTimestamp
  }
  /** What a host says about a commit. */
  commit_checks: {
    id: Id
    credential_id: number
    provider: 'github' | 'gitlab' | 'gitea'
    api_url: string
    repository: string
    commit: string
    /** Null: the host has not answered yet. */
    checks: MaybeJson<StoredCheck[]>
    /** The token cannot read all of them. */
    is_partial: Generated<boolean>
    changed_at: MaybeTimestamp
    answered_at: MaybeTimestamp
    /** Why the last question was not answered. */
    problem: string | null
    asked_at: MaybeTimestamp
    /** When it is asked next; null: no run waits. */
    due_at: MaybeTimestamp
    leased_until: MaybeTimestamp
    created_at: Timestamp
  }
  check_requests: {
    action_id: number
    environment_id: number
    pipeline_id: number
    /** Null until a worker has found the commit. */
    commit_checks_id: number | null
    /** Why the commit, or who to ask about it, is not known. */
    problem: string | null
    result: MaybeJson<ChecksResult>
    /** Since when it waits, or did. */
    since: Timestamp
    /** While it waits: when it gives up. */
    expires_at: MaybeTimestamp
    passed_at: MaybeTimestamp
    /** When a worker looks for its commit; null: it is known. */
    due_at: MaybeTimestamp
    is_watched: Generated<boolean>
    created_at: Timestamp
  }
  started_settings: { pipeline_id: number; action_id: number; stamp: string }
  frozen_environments: {
    environment_id: number
    since: Timestamp
    all_continue: boolean
    /** When the first of the runs that it held was released; null while they are held. */
    thawed_at: MaybeTimestamp
  }
  /** Whose runs of hooks before `newest` will be skipped. */
  superseded_pipelines: { pipeline_id: number; environment_id: number; newest: number }
  gate_overrides: {
    id: Id
    action_id: number
    gate: Exclude<Gate, 'approval'>
    reason: string
    freeze_ids: Generated<number[]>
    /** When each of them began; missing in overrides that an older release stored. */
    freeze_starts: Generated<string[]>
    user_id: number
    created_at: Timestamp
  }
}
