// A run as lines of a log, one for each change. Pure.
import type { ActionEvent } from '@gantry/client'
import { oneLine } from '../table.ts'
import { duration } from '../times.ts'
import { type RunState, type StepState, secondsOf, subjectOf } from './run-state.ts'

/** For an event that has been applied; null when it is not worth a line. */
export function changeLine(run: RunState, event: ActionEvent): string | null {
  if (event.type === 'log' || event.type === 'end') return null
  const subject = subjectOf(run, event)
  if (!subject) return null
  const { data } = event
  // The state of the server says that it never ran.
  if (event.type === 'step' && data.status !== 'in-progress' && subject.startedAt === null) return null
  const seconds = subject.endedAt === null ? null : secondsOf(subject, subject.endedAt)
  const took = seconds === null ? '' : ` after ${duration(seconds)}`
  return `${data.occurred_at} ${nameOf(run, event)}: ${oneLine(data.status_reason_human_readable)}${took}`
}

function nameOf(run: RunState, event: ActionEvent): string {
  if (!('target_id' in event.data)) return `#${run.id}`
  const { target_id } = event.data
  const target = run.targets.find(({ id }) => id === target_id)!
  if (event.type !== 'step') return oneLine(target.name)
  return oneLine(`${target.name} ${(subjectOf(run, event) as StepState).name}`)
}
