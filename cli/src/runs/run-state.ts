// What is known about a run while it is watched: its targets and steps, moved by the events of its stream. Pure.
import type { ActionEvent } from '@gantry/client'
import { type Action, isOver, kindSuffix, pathOf, sourceOf } from '../actions.ts'
import { createTail, type Tail } from './tail.ts'

export type Status = Action['status']

/** Times are those of the instance, in milliseconds. */
export type Progress = {
  status: Status
  /** The reason in words, such as "Waiting: pipeline busy". */
  state: string
  startedAt: number | null
  endedAt: number | null
}
export type StepState = Progress & { order: number; name: string; tail: Tail }
export type TargetState = Progress & { id: number; name: string; steps: StepState[] }
export type RunState = Progress & {
  id: number
  title: string
  targets: TargetState[]
  /** What it waits for at a gate, in a sentence. */
  heldBy: string | null
}

const NOT_STARTED: Progress = { status: 'pending', state: 'Pending', startedAt: null, endedAt: null }

/** As it was before it began: the stream tells everything that has happened since. */
export function createRunState(action: Action, pipelineName: string): RunState {
  const source = sourceOf(action)
  // In front of the path, whose end a narrow terminal cuts.
  const kind = kindSuffix(action.action_data.deployment?.type)
  const title = `${pipelineName}${kind} ${pathOf(action)}${source && `, ${source}`}`
  const run = { ...NOT_STARTED, id: action.id, title, targets: [], heldBy: null }
  addMissing(run, action)
  return run
}

/** Targets and steps that the run has by now. */
export function addMissing(run: RunState, { targets }: Action): void {
  for (const { id, resource_data, steps } of targets) {
    let target = run.targets.find((one) => one.id === id)
    if (!target) {
      target = { ...NOT_STARTED, id, name: resource_data.name, steps: [] }
      run.targets.push(target)
    }
    for (const { order, name } of steps)
      if (!target.steps.some((step) => step.order === order))
        target.steps.push({ ...NOT_STARTED, order, name, tail: createTail() })
    target.steps.sort((one, other) => one.order - other.order)
  }
}

/** What an event is about; undefined for a target or a step that was added after the run was read. */
export function subjectOf(run: RunState, event: ActionEvent): RunState | TargetState | StepState | undefined {
  if (event.type === 'action' || event.type === 'end') return run
  const { data } = event
  const target = run.targets.find(({ id }) => id === data.target_id)
  return 'step_order' in data ? target?.steps.find(({ order }) => order === data.step_order) : target
}

export function applyEvent(run: RunState, event: ActionEvent): void {
  const subject = subjectOf(run, event)
  if (!subject) return
  if (event.type === 'log') {
    ;(subject as StepState).tail.append(event.data.text)
    return
  }
  subject.status = event.data.status
  subject.state = event.data.status_reason_human_readable
  if (event.type === 'end') return
  const at = Date.parse(event.data.occurred_at)
  if (subject.status === 'in-progress') subject.startedAt ??= at
  if (isOver(subject)) subject.endedAt = at
}

/** How long it has taken so far, or took, in seconds; null when it never started. */
export function secondsOf({ startedAt, endedAt }: Progress, now: number): number | null {
  return startedAt === null ? null : Math.max(0, ((endedAt ?? now) - startedAt) / 1_000)
}
