// What a toast says about a run that a person has just asked for. Pure.
import type { Status } from '#web/base/ui/status.ts'

/** "Started" is said of runs that have started. `blockers` are the runs that it waits for, as far as they are known. */
export function startMessage(title: string, status: Status, blockers: readonly number[] = []): string {
  switch (status) {
    case 'pending':
    case 'queued':
      return `Queued ${title}`
    case 'waiting':
      return blockers.length === 0
        ? `${title} is waiting for its turn`
        : `${title} is waiting for ${blockers.map((id) => `#${id}`).join(', ')}`
    case 'in-progress':
      return `Started ${title}`
    case 'completed':
    case 'failed':
      return `${title} ${status}`
    case 'skipped':
      return `${title} was skipped`
  }
}

/** Or has already ended. */
export function hasStarted(status: Status): boolean {
  return !['pending', 'queued', 'waiting'].includes(status)
}
