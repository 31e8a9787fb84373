import { errorOf, later } from '#model/hooks/health.ts'
import type { DeliveryState } from '#platform/database/tables.ts'
import type { ActionNotification } from './schemas.ts'

/** One delivery of a hook about an action, with its last attempt. */
export type DeliveryRow = {
  state: DeliveryState
  attempts: number
  due_at: string
  is_in_progress: boolean
  last_request_id: string | null
  error: string | null
  response_status_code: number | null
}

type Pause = { paused_until: string | null; paused_reason: string | null }

const DISABLED = 'The hook was disabled before this was sent.'

/**
 * How far the notifications of one hook have come, by its deliveries in the order of their events: the first that is pending
 * or, when none is, the last. Null when the conditions of the hook kept all of them back. Pure.
 */
export function presentNotification(rows: readonly DeliveryRow[], { paused_until, paused_reason }: Pause) {
  const sent = rows.filter(({ state }) => state !== 'ignored')
  const decisive = sent.find(({ state }) => state === 'pending') ?? sent.at(-1)
  if (!decisive) return null
  const isPending = decisive.state === 'pending'
  const isPaused = isPending && paused_until !== null && !decisive.is_in_progress
  return {
    state: stateOf(decisive.state, isPaused),
    paused_until: isPaused ? paused_until : null,
    paused_reason: isPaused ? paused_reason : null,
    next_attempt_at: isPending ? later(decisive.due_at, paused_until) : null,
    last_error: reasonOf(decisive),
    attempts: decisive.attempts,
    last_request_id: sent.reduce<string | null>((newest, row) => newer(newest, row.last_request_id), null),
    response_status_code: decisive.response_status_code,
  }
}

function stateOf(state: DeliveryState, isPaused: boolean): ActionNotification['state'] {
  if (state === 'pending') return isPaused ? 'paused' : 'retrying'
  if (state === 'delivered' || state === 'superseded') return state
  return 'failed'
}

function reasonOf({ state, attempts, error, response_status_code: status }: DeliveryRow): string | null {
  if (state === 'delivered' || state === 'superseded' || state === 'ignored') return null
  if (state === 'missed') return DISABLED
  // A delivery that is sent again says why it was sent before, which is no error of this time.
  if (state === 'pending' && attempts === 0) return null
  return errorOf({ error, status })
}

/** Ids of requests begin with their time. */
function newer(one: string | null, other: string | null): string | null {
  if (one === null || other === null) return one ?? other
  return one > other ? one : other
}
