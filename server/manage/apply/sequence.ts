import { DEPLOY_STEPS } from '#model/pipelines/built-in-steps.ts'
import type { Problem } from './problems.ts'
import { type DesiredResource, isBuiltInName, keyOf, type PipelineName, pipelinePath } from './resources.ts'
import type { State } from './stored-state.ts'

// The order of pipelines and of steps. Pure.

/** All pipelines that will exist, each after those that it runs after. */
export function sequencePipelines(
  desired: readonly DesiredResource[],
  { resources }: State,
  removedKeys: ReadonlySet<string>,
): { keys: string[]; problems: Problem[] } {
  const after = new Map<string, string[]>()
  const add = (path: readonly string[], names: readonly PipelineName[]) => {
    const keys = names.map((name) => keyOf(pipelinePath(path[1]!, name)))
    after.set(keyOf(path), keys)
  }
  for (const [key, { type, path, body }] of resources)
    if (type === 'pipeline' && !removedKeys.has(key)) add(path, body.run_after as PipelineName[])
  const pipelines = desired.filter((resource) => resource.type === 'pipeline')
  for (const { path, body } of pipelines)
    if (body.run_after || !after.has(keyOf(path))) add(path, body.run_after ?? [])
  const sorted = sortByAfter(after)
  if (sorted.kind === 'sorted') return { keys: sorted.keys, problems: [] }
  const culprit = pipelines.find(({ path, body }) => body.run_after && sorted.keys.includes(keyOf(path)))
  const names = sorted.keys.map((key) => (JSON.parse(key) as string[]).at(-1))
  const message = `creates a cycle of pipelines, each after the next: ${names.join(' → ')}`
  return { keys: [], problems: [{ path: [...(culprit?.at ?? []), 'run_after'], message }] }
}

type Sorted = { kind: 'sorted'; keys: string[] } | { kind: 'cycle'; keys: string[] }

/** Each key after all that it follows; or the first cycle that is found, each key before the one it follows. */
export function sortByAfter(after: ReadonlyMap<string, readonly string[]>): Sorted {
  const done = new Set<string>()
  const trail: string[] = []

  function findCycle(key: string): string[] | undefined {
    const index = trail.indexOf(key)
    if (index !== -1) return [...trail.slice(index), key]
    if (done.has(key)) return undefined
    trail.push(key)
    for (const next of after.get(key) ?? []) {
      const cycle = findCycle(next)
      if (cycle) return cycle
    }
    trail.pop()
    done.add(key)
    return undefined
  }

  for (const key of after.keys()) {
    const cycle = findCycle(key)
    if (cycle) return { kind: 'cycle', keys: cycle }
  }
  return { kind: 'sorted', keys: [...done] }
}

/** The steps to move in every pipeline of the document, by the keys of the steps. */
export function sequenceSteps(
  desired: readonly DesiredResource[],
  state: State,
  removedKeys: ReadonlySet<string>,
): { moves: Map<string, Move>; problems: Problem[] } {
  const moves = new Map<string, Move>()
  const problems: Problem[] = []
  const byPipeline = Map.groupBy(
    desired.filter((resource) => resource.type === 'step'),
    (step) => keyOf(step.path.slice(0, -2)),
  )
  for (const pipeline of desired) {
    const steps = byPipeline.get(keyOf(pipeline.path))
    if (pipeline.type !== 'pipeline' || !steps) continue
    const { operation } = pipeline.body
    const stepKey = (name: string) => keyOf([...pipeline.path, 'steps', name])
    const custom = steps.filter(({ name }) => operation !== 'deploy' || !isBuiltInName(name))
    const current = currentSteps(operation, state.stepOrders.get(keyOf(pipeline.path)) ?? [])
    const { moves: moved, unresolved } = moveSteps(
      current.filter((name) => !removedKeys.has(stepKey(name))),
      custom.map(({ name, body }) => ({ name, trigger_after: body.trigger_after })),
    )
    for (const [name, move] of moved) moves.set(stepKey(name), move)
    for (const { name, at } of custom.filter((step) => unresolved.has(step.name)))
      problems.push({
        path: [...at, 'trigger_after'],
        message: `is not a step of this pipeline, or is listed below ${name}`,
      })
  }
  return { moves, problems }
}

/** With the built-in steps that a pipeline gains or loses when it becomes, or stops being, a deploy. */
function currentSteps(operation: string, stored: string[]): string[] {
  const builtIn = DEPLOY_STEPS.map(({ name }) => name as string)
  const isDeploy = operation === 'deploy'
  if (isDeploy === builtIn.every((name) => stored.includes(name))) return stored
  return isDeploy ? [...builtIn, ...stored] : stored.filter((name) => !builtIn.includes(name))
}

export type DesiredStep = {
  name: string
  /** Undefined: after the one above it in the list. */
  trigger_after?: string | null
}

/** The step that it follows; null: it is the first; undefined: it does not exist yet. */
export type Move = { before: string | null | undefined; after: string | null }

/**
 * `current`: the names of the existing steps, without those to remove. Computes the final order first; then `moves`
 * each step that is new or not in position, from front to back, so that every move is final. `unresolved` are the
 * steps whose `trigger_after` is not in the pipeline, or not yet.
 */
export function moveSteps(current: readonly string[], desired: readonly DesiredStep[]) {
  const listed = new Set(desired.map(({ name }) => name))
  const unresolved = new Set<string>()
  let order = current.filter((name) => !listed.has(name))
  let above: string | undefined
  for (const { name, trigger_after } of desired) {
    const last = order.at(-1) ?? null
    const after = trigger_after === undefined ? (above ?? last) : trigger_after
    const exists = after === null || order.includes(after)
    if (!exists) unresolved.add(name)
    order = moveAfter(order, name, exists ? after : last)
    above = name
  }
  const moves = new Map<string, Move>()
  let now = [...current]
  order.forEach((name, index) => {
    const after = order[index - 1] ?? null
    const position = now.indexOf(name)
    const before = position === -1 ? undefined : (now[position - 1] ?? null)
    if (!listed.has(name) || before === after) return
    moves.set(name, { before, after })
    now = moveAfter(now, name, after)
  })
  return { moves, unresolved }
}

function moveAfter(order: readonly string[], name: string, after: string | null): string[] {
  const others = order.filter((one) => one !== name)
  return others.toSpliced(after === null ? 0 : others.indexOf(after) + 1, 0, name)
}
