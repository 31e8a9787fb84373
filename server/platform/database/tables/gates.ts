// What holds runs back, and who let them through.
import type { Generated } from 'kysely'
import type { Gate, Weekday } from '#platform/vocabulary.ts'
import type { Dated, Id, MaybeJson, MaybeTimestamp, Timestamp } from './columns.ts'

/** A time of the week on the clocks of a time zone; `time` is HH:MM. */
export type TimeOfWeek = { day: Weekday; time: string }
export type Weekly = { from: TimeOfWeek; to: TimeOfWeek }

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
