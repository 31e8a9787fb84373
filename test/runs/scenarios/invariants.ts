// What must hold in every scenario. Pure: recorded actions → violations.
import { canMove, isEnd } from '#model/actions/status.ts'
import type { Status } from '#platform/database/tables.ts'
import type { Move, RecordedAction, RecordedTarget } from './outcome.ts'
import type { Scenario } from './scenario.ts'

export function brokenInvariants(scenario: Scenario, actions: readonly RecordedAction[]): string[] {
  return [
    ...actions.flatMap(actionViolations),
    ...actions.flatMap((action) => childViolations(action, actions)),
    ...actions.flatMap((action) => action.targets.flatMap((target) => targetViolations(action, target))),
    ...overloadedServers(scenario, actions),
    ...overloadedPipelines(scenario, actions),
  ]
}

function actionViolations(action: RecordedAction): string[] {
  const { number, moves, targets } = action
  const name = `action ${number}`
  const [first, ...rest] = moves
  const all = (status: Status) => targets.every((target) => target.status === status)
  const found = [
    ...moveViolations(name, first!.status, rest),
    ...timeViolations(name, action, moves),
    ...endViolations(name, action, moves),
  ]
  if (first!.previous !== null) found.push(`${name} does not begin with its creation`)
  if (action.has_place) found.push(`${name} has ended and still has its slot`)
  if ((action.status === 'completed') !== all('completed'))
    found.push(`${name}: completed, or its targets are`)
  const hasFailed = targets.some((target) => target.status === 'failed')
  if ((action.status === 'failed') !== hasFailed) found.push(`${name}: failed, or one of its targets has`)
  return found
}

/** A child starts after its parent has completed, and never when the parent has not. */
function childViolations(child: RecordedAction, actions: readonly RecordedAction[]): string[] {
  if (child.parent === null) return []
  const parent = actions[child.parent - 1]!
  const found: string[] = []
  if (
    child.started_at !== null &&
    !(parent.status === 'completed' && parent.completed_at! <= child.started_at)
  )
    found.push(`action ${child.number} started without action ${parent.number}`)
  if (child.status === 'skipped' && parent.status === 'completed')
    found.push(`action ${child.number} was skipped, but action ${parent.number} has completed`)
  return found
}

function targetViolations({ number }: RecordedAction, target: RecordedTarget): string[] {
  const name = `target ${target.server} of action ${number}`
  const own = target.moves.filter(({ step }) => step === null)
  return [
    ...moveViolations(name, 'pending', own),
    ...timeViolations(name, target, own),
    ...endViolations(name, target, own),
    ...target.steps.flatMap((step) => {
      const moves = target.moves.filter((move) => move.step === step.order)
      const stepName = `step ${step.name} of ${name}`
      return [
        ...moveViolations(stepName, 'pending', moves, (from, to) => mayStepMove(from, to, target.attempt)),
        ...timeViolations(stepName, step, moves),
        ...endViolations(stepName, step, moves),
      ]
    }),
  ]
}

/** Steps wait only for the step before; those of a reassigned target may start again. */
function mayStepMove(from: Status, to: Status, attempt: number): boolean {
  if (canMove(from, to) || (from === 'pending' && to === 'in-progress')) return true
  return attempt > 1 && (to === 'pending' || to === 'in-progress')
}

function moveViolations(name: string, from: Status, moves: readonly Move[], may = canMove): string[] {
  let current = from
  return moves.flatMap(({ previous, status }) => {
    const found: string[] = []
    if (previous !== current) found.push(`${name} was ${current}, but its next move is from ${previous}`)
    if (current !== status && !may(current, status)) found.push(`${name} moved from ${current} to ${status}`)
    current = status
    return found
  })
}

type Timed = { started_at: string | null; completed_at: string | null }

function timeViolations(name: string, { started_at, completed_at }: Timed, moves: readonly Move[]): string[] {
  const found: string[] = []
  const hasStarted = moves.some(({ status }) => status === 'in-progress')
  if (hasStarted !== (started_at !== null)) found.push(`${name}: started_at is ${started_at}`)
  if (completed_at === null) found.push(`${name} has no completed_at`)
  else if (started_at !== null && started_at > completed_at) found.push(`${name} ended before it started`)
  return found
}

function endViolations(name: string, end: Omit<Move, 'previous'>, moves: readonly Move[]): string[] {
  const last = moves.at(-1)
  if (!isEnd(end.status)) return [`${name} has not ended`]
  if (last?.status === end.status && last.reason === end.reason) return []
  return [`${name} is ${end.status} ${end.reason}, but its last move was to ${last?.status} ${last?.reason}`]
}

type TargetMove = { id: number; action: number; pipeline: string; server: string; status: Status }

/** The moves of all targets, in the order in which they were made. */
function allMoves(actions: readonly RecordedAction[]): TargetMove[] {
  return actions
    .flatMap(({ number, pipeline, targets }) =>
      targets.flatMap(({ server, moves }) =>
        moves
          .filter(({ step }) => step === null)
          .map(({ id, status }) => ({ id, action: number, pipeline, server, status })),
      ),
    )
    .sort((one, other) => one.id - other.id)
}

/** A target has a slot on its server while it is queued or in progress. */
function overloadedServers({ servers }: Scenario, actions: readonly RecordedAction[]): string[] {
  const slots = new Map<string, Set<number>>()
  return allMoves(actions).flatMap(({ action, server, status }) => {
    const here = slots.get(server) ?? new Set()
    slots.set(server, here)
    if (status === 'queued' || status === 'in-progress') here.add(action)
    else here.delete(action)
    return overload(`server ${server}`, here, servers[server]!.max_parallel_actions ?? 1)
  })
}

/** An action has a slot on its pipeline from the moment its first target needs one until its last has ended. */
function overloadedPipelines({ pipelines }: Scenario, actions: readonly RecordedAction[]): string[] {
  const slots = new Map<string, Set<number>>()
  const left = new Map(actions.map(({ number, targets }) => [number, targets.length]))
  return allMoves(actions).flatMap(({ action, pipeline, status }) => {
    const here = slots.get(pipeline) ?? new Set()
    slots.set(pipeline, here)
    if (!isEnd(status)) here.add(action)
    else left.set(action, left.get(action)! - 1)
    if (left.get(action) === 0) here.delete(action)
    return overload(`pipeline ${pipeline}`, here, pipelines[pipeline]!.max_parallel_actions ?? 1)
  })
}

function overload(where: string, here: ReadonlySet<number>, limit: number): string[] {
  return limit > 0 && here.size > limit ? [`${where} had actions ${[...here].join(' and ')} at once`] : []
}
