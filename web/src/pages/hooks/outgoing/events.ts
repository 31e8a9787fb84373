// The events that an outgoing hook reports, as people know them. Pure.

export type EventKind =
  | 'action.created'
  | 'action.status_changed'
  | 'action.queued'
  | 'action.started'
  | 'action.completed'
  | 'action.failed'
  | 'action.skipped'
  | 'action.gate_changed'
  | 'action.approval_requested'
  | 'action.approved'
  | 'action.rejected'

export const EVENTS: readonly { value: EventKind; label: string; description: string }[] = [
  { value: 'action.created', label: 'Run created', description: 'Before anything has started' },
  { value: 'action.queued', label: 'Run queued', description: 'Ready for a worker' },
  { value: 'action.started', label: 'Run started', description: 'Its first step started' },
  { value: 'action.completed', label: 'Run completed', description: 'On all servers' },
  { value: 'action.failed', label: 'Run failed', description: 'Or was canceled' },
  { value: 'action.skipped', label: 'Run skipped', description: 'It will never run' },
  {
    value: 'action.approval_requested',
    label: 'Approval requested',
    description: 'People can approve it now',
  },
  { value: 'action.approved', label: 'Run approved', description: 'By as many people as required' },
  { value: 'action.rejected', label: 'Run rejected', description: 'It will not start' },
  { value: 'action.gate_changed', label: 'Gate changed', description: 'It waits at a gate, or left one' },
  {
    value: 'action.status_changed',
    label: 'Every status change',
    description: 'Including waiting; not the creation',
  },
]

/** Null for records that do not say. */
export function eventLabel(kind: string | null): string {
  if (kind === 'test') return 'Test'
  if (kind === 'action.status_changed') return 'Status changed'
  return EVENTS.find(({ value }) => value === kind)?.label ?? kind ?? 'Delivery'
}

/** `Run started, Run failed`, in the order of a run. */
export function eventList(kinds: readonly string[]): string {
  const known = EVENTS.filter(({ value }) => kinds.includes(value)).map(({ label }) => label)
  return known.length === 0 ? kinds.join(', ') : known.join(', ')
}
