import type { ClaimedDelivery } from './claim-deliveries.ts'
import type { AttemptResult } from './retry-schedule.ts'

/** What happened when a delivery was tried, as its record tells it. */
export const ATTEMPT_OUTCOMES = [
  'delivered',
  'refused',
  'redirected',
  'timed_out',
  'unreachable',
  'blocked',
  'unrenderable',
  'superseded',
  'unrecorded',
] as const
export type AttemptOutcome = (typeof ATTEMPT_OUTCOMES)[number]

/** One attempt as it is kept; everything in it is masked already. */
export type AttemptRecord = {
  id: string
  outcome: AttemptOutcome
  error: string | null
  ipAddress: string | null
  url: string
  method: string
  requestHeaders: Record<string, string> | null
  requestBody: Buffer | null
  status: number | null
  responseHeaders: Record<string, unknown> | null
  responseBody: Buffer | null
  durationMs: number | null
}

/** What a delivery has become after an attempt. */
export type NextStep =
  | { kind: 'delivered' }
  | { kind: 'retry'; afterMs: number }
  | { kind: 'give-up'; why: string }
  /** The attempt was made, but the database refuses its record: the delivery has failed. */
  | { kind: 'unrecorded'; why: string }
  /** The hook's conditions do not hold: nobody is told, and nothing is recorded. */
  | { kind: 'ignored' }
  /** This process stops, or was held up for too long, before the receiver answered: somebody else goes on. */
  | { kind: 'handed-back' }

export type EndedAttempt = {
  delivery: ClaimedDelivery
  next: NextStep
  record: AttemptRecord | null
  /** What the receiver did; absent when nothing was sent. */
  result?: AttemptResult
}

export function handBack(delivery: ClaimedDelivery): EndedAttempt {
  return { delivery, next: { kind: 'handed-back' }, record: null }
}
