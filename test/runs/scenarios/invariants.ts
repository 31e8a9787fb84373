// What holds in every scenario, whatever its story is. Pure: what the tables say → what is wrong with it.
import { canMove, isEnd } from '#model/actions/status.ts'
import type { Status } from '#platform/database/tables.ts'
import type { Move, ToldAction, ToldTarget } from './outcome.ts'
import type { Scenario } from './scenario.ts'

export function brokenInvariants(scenario: Scenario, actions: readonly ToldAction[]): string[] {
  return [
    ...actions.flatMap(actionFaults),
    ...actions.flatMap((action) => childFaults(action, actions)),
    ...actions.flatMap((action) => action.targets.flatMap((target) => targetFaults(action, target))),
    ...crowdedServers(scenario, actions),
    ...crowdedPipelines(scenario, actions),
  ]
}

function actionFaults(action: ToldAction): string[] {
  const { number, moves, targets } = action
  const name = `action ${number}`
  const [first, ...rest] = moves
  const all = (status: Status) => targets.every((target) => target.status === status)
  const faults = [
    ...moveFaults(name, first!.status, rest),
    ...timeFaults(name, action, moves),
    ...endFaults(name, action, moves),
  ]
  if (first!.previous !== null) faults.push(`${name} does not begin with its creation`)
  if (action.has_place) faults.push(`${name} has ended and keeps its place`)
  if ((action.status === 'completed') !== all('completed'))
    faults.push(`${name}: completed, or its targets are`)
  const hasFailed = targets.some((target) => target.status === 'failed')
  if ((action.status === 'failed') !== hasFailed) faults.push(`${name}: failed, or one of its targets has`)
  return faults
}

/** A child begins after its parent has completed, and not at all when it has not. */
function childFaults(child: ToldAction, actions: readonly ToldAction[]): string[] {
  if (child.parent === null) return []
  const parent = actions[child.parent - 1]!
  const faults: string[] = []
  if (
    child.started_at !== null &&
    !(parent.status === 'completed' && parent.completed_at! <= child.started_at)
  )
    faults.push(`action ${child.number} began without action ${parent.number}`)
  if (child.status === 'skipped' && parent.status === 'completed')
    faults.push(`action ${child.number} was skipped, but action ${parent.number} has completed`)
  return faults
}

function targetFaults({ number }: ToldAction, target: ToldTarget): string[] {
  const name = `target ${target.server} of action ${number}`
  const own = target.moves.filter(({ step }) => step === null)
  return [
    ...moveFaults(name, 'pending', own),
    ...timeFaults(name, target, own),
    ...endFaults(name, target, own),
    ...target.steps.flatMap((step) => {
      const moves = target.moves.filter((move) => move.step === step.order)
      const stepName = `step ${step.name} of ${name}`
      return [
        ...moveFaults(stepName, 'pending', moves, (from, to) => mayStepMove(from, to, target.attempt)),
        ...timeFaults(stepName, step, moves),
        ...endFaults(stepName, step, moves),
      ]
    }),
  ]
}

/** Steps wait for nobody but the step before; those of a target that was taken over may begin again. */
function mayStepMove(from: Status, to: Status, attempt: number): boolean {
  if (canMove(from, to) || (from === 'pending' && to === 'in-progress')) return true
  return attempt > 1 && (to === 'pending' || to === 'in-progress')
}

function moveFaults(name: string, from: Status, moves: readonly Move[], may = canMove): string[] {
  let current = from
  return moves.flatMap(({ previous, status }) => {
    const faults: string[] = []
    if (previous !== current) faults.push(`${name} was ${current}, but its next move is from ${previous}`)
    if (current !== status && !may(current, status)) faults.push(`${name} moved from ${current} to ${status}`)
    current = status
    return faults
  })
}

type Timed = { started_at: string | null; completed_at: string | null }

function timeFaults(name: string, { started_at, completed_at }: Timed, moves: readonly Move[]): string[] {
  const faults: string[] = []
  const hasStarted = moves.some(({ status }) => status === 'in-progress')
  if (hasStarted !== (started_at !== null)) faults.push(`${name}: started_at is ${started_at}`)
  if (completed_at === null) faults.push(`${name} has no completed_at`)
  else if (started_at !== null && started_at > completed_at) faults.push(`${name} ended before it began`)
  return faults
}

function endFaults(name: string, end: Omit<Move, 'previous'>, moves: readonly Move[]): string[] {
  const last = moves.at(-1)
  if (!isEnd(end.status)) return [`${name} has not ended`]
  if (last?.status === end.status && last.reason === end.reason) return []
  return [`${name} is ${end.status} ${end.reason}, but its last move was to ${last?.status} ${last?.reason}`]
}

type PlacedMove = { id: number; action: number; pipeline: string; server: string; status: Status }

/** The moves of all targets, in the order in which they were made. */
function allMoves(actions: readonly ToldAction[]): PlacedMove[] {
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

/** A target has a place on its server while it is queued or in progress. */
function crowdedServers({ servers }: Scenario, actions: readonly ToldAction[]): string[] {
  const places = new Map<string, Set<number>>()
  return allMoves(actions).flatMap(({ action, server, status }) => {
    const here = places.get(server) ?? new Set()
    places.set(server, here)
    if (status === 'queued' || status === 'in-progress') here.add(action)
    else here.delete(action)
    return crowd(`server ${server}`, here, servers[server]!.max_parallel_actions ?? 1)
  })
}

/** An action has a place on its pipeline from the moment its first target wants one until its last has ended. */
function crowdedPipelines({ pipelines }: Scenario, actions: readonly ToldAction[]): string[] {
  const places = new Map<string, Set<number>>()
  const left = new Map(actions.map(({ number, targets }) => [number, targets.length]))
  return allMoves(actions).flatMap(({ action, pipeline, status }) => {
    const here = places.get(pipeline) ?? new Set()
    places.set(pipeline, here)
    if (!isEnd(status)) here.add(action)
    else left.set(action, left.get(action)! - 1)
    if (left.get(action) === 0) here.delete(action)
    return crowd(`pipeline ${pipeline}`, here, pipelines[pipeline]!.max_parallel_actions ?? 1)
  })
}

function crowd(where: string, here: ReadonlySet<number>, limit: number): string[] {
  return limit > 0 && here.size > limit ? [`${where} had actions ${[...here].join(' and ')} at once`] : []
}
