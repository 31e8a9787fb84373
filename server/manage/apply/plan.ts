import type { Caller } from '#access/authorization/caller.ts'
import { checkReferences, type Known } from './check-references.ts'
import { compare, type FieldChange } from './compare.ts'
import { lackingToRemove, maySee } from './lacking.ts'
import type { Move } from './orders.ts'
import { placeAllSteps } from './place-steps.ts'
import type { Fault, Path } from './positions.ts'
import type { State, Stored } from './state.ts'
import { isBuiltInName, keyOf, parentOf, type Wanted } from './things.ts'
import { lackingFor, lackingForChange } from './who-may.ts'

export type Task =
  | {
      verb: 'create'
      wanted: Wanted
      fields: FieldChange[]
      /** Of a step: which one it follows. */
      after?: string | null
    }
  | {
      verb: 'change'
      wanted: Wanted
      stored: Stored | undefined
      fields: FieldChange[]
      after?: string | null
    }
  /** `goesWith`: what it stands in goes too, and takes it along. */
  | { verb: 'delete'; stored: Stored; fields: FieldChange[]; goesWith: boolean }

export type Plan = {
  /** In the order of the document, then what goes. */
  tasks: Task[]
  lacking: Fault[]
  faults: Fault[]
  conflicts: Fault[]
  /** The keys of pipelines, each after those that it runs after. */
  pipelineOrder: string[]
}

export type PlanInput = {
  wanted: readonly Wanted[]
  state: State
  caller: Caller
  prune: boolean
  isFilled: (path: Path) => boolean
}

/** What has to be done so that everything is as the document says, and what stands against it. Pure. */
export function makePlan(input: PlanInput): Plan {
  const { wanted, state, caller, prune } = input
  const byKey = new Map(wanted.map((thing) => [keyOf(thing.path), thing]))
  const lacking: Fault[] = []
  const conflicts: Fault[] = []
  const tasks: Task[] = []
  const going = prune ? [...state.things].filter(([key, thing]) => isPruned(thing) && !byKey.has(key)) : []
  const goingKeys = new Set(going.map(([key]) => key))
  const known: Known = {
    wanted: byKey,
    stored: (path) => {
      const key = keyOf(path)
      const thing = goingKeys.has(key) ? undefined : state.things.get(key)
      return thing && maySee(caller, thing.type, thing.place) ? thing : undefined
    },
    state,
    goingKeys,
  }
  const references = checkReferences(wanted, known)
  const places = placeAllSteps(wanted, known)

  for (const thing of wanted) {
    const key = keyOf(thing.path)
    const stored = state.things.get(key)
    const missing = lackingFor(input, thing, stored)
    if (missing.length > 0) {
      lacking.push({ path: thing.at, message: `needs ${missing.join(' and ')}`, onKey: true })
      continue
    }
    if (state.twins.has(key)) {
      conflicts.push({
        path: thing.at,
        message: `several ${thing.type}s have this name: rename them first`,
        onKey: true,
      })
      continue
    }
    const task = taskFor(input, thing, stored, places.moves.get(key))
    if (!task) continue
    const more = task.verb === 'change' ? lackingForChange(input, thing, stored) : []
    if (more.length > 0) lacking.push({ path: thing.at, message: `needs ${more.join(' and ')}`, onKey: true })
    tasks.push(task)
  }
  const removals = planRemovals(caller, going)
  return {
    tasks: [...tasks, ...removals.tasks],
    lacking: [...lacking, ...removals.lacking],
    faults: [...references.faults, ...places.faults],
    conflicts,
    pipelineOrder: references.pipelineOrder,
  }
}

function planRemovals(caller: Caller, going: readonly (readonly [string, Stored])[]) {
  const keys = new Set(going.map(([key]) => key))
  const tasks = going.map(([, stored]): Task => {
    const parent = parentOf(stored)
    return {
      verb: 'delete',
      stored,
      fields: [],
      goesWith: parent !== undefined && keys.has(keyOf(parent)),
    }
  })
  const lacking = going.flatMap(([, { type, path, place }]): Fault[] => {
    const missing = lackingToRemove(caller, type, place)
    return missing.length > 0 ? [{ path, message: `needs ${missing.join(' and ')} to be removed` }] : []
  })
  return { tasks, lacking }
}

/** Organizations and credentials are more than the project that the document is about. */
function isPruned({ type, builtIn }: Stored): boolean {
  return !builtIn && !['organization', 'project', 'credential'].includes(type)
}

function taskFor(
  { isFilled }: PlanInput,
  wanted: Wanted,
  stored: Stored | undefined,
  move: Move | undefined,
): Task | undefined {
  const isBuiltIn = wanted.type === 'step' && isBuiltInName(wanted.name) && wanted.body.command === undefined
  const compared = stored ?? (isBuiltIn ? freshBuiltIn(wanted) : undefined)
  const fields = compare(wanted, compared, isFilled)
  const moved = move ? [{ field: 'trigger_after', before: move.before ?? null, after: move.after }] : []
  if (!compared) return { verb: 'create', wanted, fields: [...fields, ...moved], after: move?.after }
  const all = [...fields, ...moved]
  if (all.length === 0) return undefined
  return { verb: 'change', wanted, stored, fields: all, after: move?.after }
}

const DEFAULT_TIMEOUT_SECONDS = 600

/** The built-in step of a pipeline that is about to be made. */
function freshBuiltIn({ name, path }: Wanted): Stored {
  const body = { timeout_seconds: DEFAULT_TIMEOUT_SECONDS }
  return { type: 'step', name, path, id: 0, place: { organization_id: 0 }, body, builtIn: true }
}
