import { type Static, Type } from 'typebox'
import { stepSchema } from '#model/actions/schemas.ts'
import type { Status } from '#platform/database/tables.ts'
import { Exactly, Id, named, Timestamp } from '#platform/http/schemas.ts'
import { STATUSES } from '#platform/vocabulary.ts'

const { status, status_human_readable, status_reason_code, status_reason_human_readable } =
  stepSchema.properties
const order = Type.Integer({ minimum: 1 })

const state = { status, status_human_readable, status_reason_code, status_reason_human_readable }
const move = { previous_status: status, ...state, occurred_at: Timestamp }

/** The data of each type of event. */
export const actionMoveSchema = named(
  'ActionMove',
  Exactly({
    action_id: Id,
    environment_id: Id,
    pipeline_id: Id,
    ...move,
    previous_status: Type.Unsafe<Status | null>({
      type: ['string', 'null'],
      enum: [...Object.keys(STATUSES), null],
      description: 'Null: the action was created.',
    }),
  }),
)
export const targetMoveSchema = named('TargetMove', Exactly({ target_id: Id, ...move }))
export const stepMoveSchema = named('StepMove', Exactly({ target_id: Id, step_order: order, ...move }))
export const logTextSchema = named(
  'LogText',
  Exactly({
    target_id: Id,
    step_order: order,
    offset: Type.Integer({
      minimum: 0,
      description: 'Where the text begins in the log of the step, in bytes of UTF-8.',
    }),
    text: Type.String(),
  }),
)
export const streamEndSchema = named('StreamEnd', Exactly({ action_id: Id, ...state }))
export const streamReadySchema = named('StreamReady', Exactly({}))

export type EventData = {
  action: Static<typeof actionMoveSchema>
  target: Static<typeof targetMoveSchema>
  step: Static<typeof stepMoveSchema>
  log: Static<typeof logTextSchema>
  end: Static<typeof streamEndSchema>
  ready: Static<typeof streamReadySchema>
}

export const liveSchemas = [
  actionMoveSchema,
  targetMoveSchema,
  stepMoveSchema,
  logTextSchema,
  streamEndSchema,
  streamReadySchema,
]
