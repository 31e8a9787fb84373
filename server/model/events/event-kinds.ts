// The events room: what happens to actions, as others are told of it. Recorded with the move that causes it.
import type { Status } from '#platform/database/tables.ts'

export const EVENT_KINDS = [
  'action.created',
  'action.status_changed',
  'action.queued',
  'action.started',
  'action.completed',
  'action.failed',
  'action.skipped',
] as const

export type EventKind = (typeof EVENT_KINDS)[number]

const ARRIVALS: Partial<Record<Status, EventKind>> = {
  queued: 'action.queued',
  'in-progress': 'action.started',
  completed: 'action.completed',
  failed: 'action.failed',
  skipped: 'action.skipped',
}

/** The kinds of events that one move of an action is; a changed reason alone is none. */
export function eventKinds(previous: Status | null, next: Status): EventKind[] {
  if (previous === next) return []
  const arrival = ARRIVALS[next]
  return [previous === null ? 'action.created' : 'action.status_changed', ...(arrival ? [arrival] : [])]
}

/** What a hook that listens to these kinds calls the event: the most particular of those that it named. */
export function matchingKind(
  kinds: readonly EventKind[],
  listened: readonly string[],
): EventKind | undefined {
  return kinds.findLast((kind) => listened.includes(kind))
}
