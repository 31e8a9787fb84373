// What holds runs back, and who let them through.
import type { Generated } from 'kysely'
import type { Gate, Weekday } from '#platform/vocabulary.ts'
import type { Dated, Id, Json, MaybeJson, MaybeTimestamp, Timestamp } from './columns.ts'
import type { ApprovalTerms } from './inventory.ts'

/** A time of the week on the clocks of a time zone; `time` is HH:MM. */
export type TimeOfWeek = { day: Weekday; time: string }
export type Weekly = { from: TimeOfWeek; to: TimeOfWeek }

/** Null: nothing is live there. */
export type LiveByServer = Record<string, { release: string; commit: string | null } | 'unknown' | null>

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
    /** Why its source could not be found. */
    problem: string | null
    asked_at: MaybeTimestamp
    expires_at: MaybeTimestamp
    approved_at: MaybeTimestamp
    /** When a worker looks at it next; null: nothing to find out. */
    due_at: MaybeTimestamp
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
  started_settings: { pipeline_id: number; action_id: number; stamp: string }
  frozen_environments: { environment_id: number; since: Timestamp; all_continue: boolean }
  gate_overrides: {
    id: Id
    action_id: number
    gate: Exclude<Gate, 'approval'>
    reason: string
    freeze_ids: Generated<number[]>
    user_id: number
    created_at: Timestamp
  }
}
