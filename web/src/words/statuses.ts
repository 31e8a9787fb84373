import type { ActionListItem } from '../api-types.ts'

export type Status = ActionListItem['status']

export const STATUSES: Status[] = [
  'pending',
  'waiting',
  'queued',
  'in-progress',
  'completed',
  'failed',
  'skipped',
]
export const STATUS_WORDS: Record<Status, string> = {
  pending: 'Pending',
  waiting: 'Waiting',
  queued: 'Queued',
  'in-progress': 'In progress',
  completed: 'Completed',
  failed: 'Failed',
  skipped: 'Skipped',
}

/** A shape of its own for each status: the colour only helps. */
export const STATUS_SIGNS: Record<Status, string> = {
  pending: '○',
  waiting: '◔',
  queued: '◑',
  'in-progress': '▶',
  completed: '✓',
  failed: '✕',
  skipped: '⤼',
}

export function hasEnded(status: string): boolean {
  return status === 'completed' || status === 'failed' || status === 'skipped'
}
