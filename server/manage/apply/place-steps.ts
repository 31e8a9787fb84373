import { DEPLOY_STEPS } from '#model/pipelines/built-in-steps.ts'
import type { Known } from './check-references.ts'
import { type Move, placeSteps } from './orders.ts'
import type { Fault } from './positions.ts'
import type { State } from './state.ts'
import { isBuiltInName, keyOf, type Wanted } from './things.ts'

type StepPlaces = { moves: Map<string, Move>; faults: Fault[] }

/** Where the steps of all pipelines go that the document has, by the keys of the steps. Pure. */
export function placeAllSteps(wanted: readonly Wanted[], { state, goingKeys }: Known): StepPlaces {
  const moves = new Map<string, Move>()
  const faults: Fault[] = []
  const byPipeline = Map.groupBy(
    wanted.filter((thing) => thing.type === 'step'),
    (step) => keyOf(step.path.slice(0, -2)),
  )
  for (const pipeline of wanted) {
    const steps = byPipeline.get(keyOf(pipeline.path)) ?? []
    if (pipeline.type !== 'pipeline' || steps.length === 0) continue
    const isDeploy = pipeline.body.operation === 'deploy'
    const own = steps.filter(({ name }) => !isDeploy || !isBuiltInName(name))
    const path = (name: string) => keyOf([...pipeline.path, 'steps', name])
    const today = stepsToday(pipeline.body.operation, pipeline.path, state).filter(
      (name) => !goingKeys.has(path(name)),
    )
    const placed = placeSteps(
      today,
      own.map(({ name, body }) => ({ name, trigger_after: body.trigger_after })),
    )
    for (const [name, move] of placed.moves) moves.set(path(name), move)
    for (const { name, at } of own.filter((step) => placed.lost.has(step.name)))
      faults.push({
        path: [...at, 'trigger_after'],
        message: `names no step of this pipeline, or one that stands below ${name} in the list`,
      })
  }
  return { moves, faults }
}

/** With the built-in steps that a pipeline gets or loses when it becomes, or is no longer, a deploy. */
function stepsToday(operation: string, path: readonly string[], state: State): string[] {
  const stored = state.stepOrders.get(keyOf(path)) ?? []
  const builtIn = DEPLOY_STEPS.map(({ name }) => name as string)
  const isDeploy = operation === 'deploy'
  if (isDeploy === builtIn.every((name) => stored.includes(name))) return stored
  return isDeploy ? [...builtIn, ...stored] : stored.filter((name) => !builtIn.includes(name))
}
