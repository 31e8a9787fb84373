// The events room: event kinds, and which hooks an event is delivered to. Events are stored with the status change
// that causes them. A new kind is added here, and described in docs/guides/receivers.md.
import type { Status } from '#platform/database/tables.ts'
import { GATE_EVENTS, type GateEvent } from '#platform/vocabulary.ts'

export const EVENT_KINDS = [
  'action.created',
  'action.status_changed',
  'action.queued',
  'action.started',
  'action.completed',
  'action.failed',
  'action.skipped',
  ...GATE_EVENTS.map((event) => `action.${event}` as const),
] as const

type EventKind = (typeof EVENT_KINDS)[number]

const KIND_OF_STATUS: Partial<Record<Status, EventKind>> = {
  queued: 'action.queued',
  'in-progress': 'action.started',
  completed: 'action.completed',
  failed: 'action.failed',
  skipped: 'action.skipped',
}

/**
 * The kinds of event that a status change is; a changed reason alone is none. What happened at a gate is less specific than
 * the status that it led to.
 */
export function eventKinds(
  previous: Status | null,
  next: Status,
  gateEvent: GateEvent | null = null,
): EventKind[] {
  const atGate: EventKind[] = gateEvent === null ? [] : [`action.${gateEvent}`]
  if (previous === next) return atGate
  const kind = KIND_OF_STATUS[next]
  return [previous === null ? 'action.created' : 'action.status_changed', ...atGate, ...(kind ? [kind] : [])]
}

/** The kind reported to a hook: the most specific one that it is subscribed to. */
export function matchingKind(
  kinds: readonly EventKind[],
  subscribed: readonly string[],
): EventKind | undefined {
  return kinds.findLast((kind) => subscribed.includes(kind))
}
