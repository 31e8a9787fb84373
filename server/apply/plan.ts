import type { Caller } from '#access/caller.ts'
import type { Permission } from '#access/permissions.ts'
import { DEPLOY_STEPS } from '#pipelines/built-in-steps.ts'
import { isBuiltInName } from './built-in-names.ts'
import { checkReferences, type Known } from './check-references.ts'
import { compare, type FieldChange, tellsSecret } from './compare.ts'
import { hasRoleAround, lackingToChange, lackingToCreate, lackingToRemove, maySee } from './lacking.ts'
import type { State, Stored } from './load-state.ts'
import { placeSteps } from './orders.ts'
import { resourceOf } from './place.ts'
import type { Fault, Path } from './positions.ts'
import { keyOf, parentOf, type Wanted } from './things.ts'

export type Task =
  | {
      verb: 'create'
      wanted: Wanted
      fields: FieldChange[] /** Of a step: which one it follows. */
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
  for (const [, stored] of going) {
    const missing = lackingToRemove(caller, stored.type, stored.place)
    if (missing.length > 0)
      lacking.push({ path: stored.path, message: `needs ${missing.join(' and ')} to be removed` })
    const parent = parentOf(stored)
    tasks.push({
      verb: 'delete',
      stored,
      fields: [],
      goesWith: parent !== undefined && goingKeys.has(keyOf(parent)),
    })
  }
  return {
    tasks,
    lacking,
    faults: [...references.faults, ...places.faults],
    conflicts,
    pipelineOrder: references.pipelineOrder,
  }
}

/** Organizations and credentials are more than the project that the document is about. */
function isPruned({ type, builtIn }: Stored): boolean {
  return !builtIn && !['organization', 'project', 'credential'].includes(type)
}

function taskFor(
  { isFilled }: PlanInput,
  wanted: Wanted,
  stored: Stored | undefined,
  after: string | null | undefined,
): Task | undefined {
  const isBuiltIn = wanted.type === 'step' && isBuiltInName(wanted.name) && wanted.body.command === undefined
  const compared = stored ?? (isBuiltIn ? freshBuiltIn(wanted) : undefined)
  const fields = compare(wanted, compared, isFilled)
  const moved = after === undefined || isBuiltIn ? [] : [{ field: 'trigger_after', before: null, after }]
  if (!compared) return { verb: 'create', wanted, fields: [...fields, ...moved], after }
  const all = [...fields, ...moved]
  if (all.length === 0) return undefined
  return { verb: 'change', wanted, stored, fields: all, after: moved.length > 0 ? after : undefined }
}

const DEFAULT_TIMEOUT_SECONDS = 600

/** The built-in step of a pipeline that is about to be made. */
function freshBuiltIn({ name, path }: Wanted): Stored {
  const body = { timeout_seconds: DEFAULT_TIMEOUT_SECONDS }
  return { type: 'step', name, path, id: 0, place: { organization_id: 0 }, body, builtIn: true }
}

/** A new organization belongs to whoever makes it, with everything in it. */
function lackingFor({ state, caller }: PlanInput, wanted: Wanted, stored: Stored | undefined): string[] {
  if (wanted.type === 'organization') {
    return stored || caller.is_instance_admin
      ? []
      : ['an administrator of this installation, who makes organizations']
  }
  const parent = nearest(state, wanted)
  if (!parent) return []
  const place = parent.stored.place
  const creating = {
    type: wanted.type,
    parent: parent.direct.type,
    resource: wanted.type === 'hook' ? resourceOf(wanted.path) : undefined,
  }
  if (!stored) return sayPermissions(lackingToCreate(caller, creating, place))
  if (
    wanted.type === 'project' &&
    Object.keys(wanted.body).length === 0 &&
    hasRoleAround(caller, stored.place)
  )
    return []
  if (!maySee(caller, wanted.type, stored.place)) {
    const unseen = lackingToCreate(caller, creating, place)
    return sayPermissions(unseen.length > 0 ? unseen : lackingToChange(caller, wanted.type, stored.place))
  }
  return tellsSecret(wanted) ? sayPermissions(lackingToChange(caller, wanted.type, stored.place)) : []
}

function lackingForChange(
  { state, caller }: PlanInput,
  wanted: Wanted,
  stored: Stored | undefined,
): string[] {
  const place = stored?.place ?? nearest(state, wanted)?.stored.place
  return place ? sayPermissions(lackingToChange(caller, wanted.type, place)) : []
}

function sayPermissions(permissions: readonly Permission[]): string[] {
  return permissions.map((permission) => `the permission ${permission}`)
}

/** The innermost thing around it that is there already; undefined when not even the organization is. */
function nearest(
  state: State,
  wanted: Wanted,
): { stored: Stored; direct: { type: Wanted['type'] } } | undefined {
  const directPath = parentOf(wanted)!
  const direct = { type: PARENT_TYPES[wanted.type] ?? (resourceOf(wanted.path) as Wanted['type']) }
  for (let path: readonly string[] | undefined = directPath; path; path = outer(path)) {
    const stored = state.things.get(keyOf(path))
    if (stored) return { stored, direct }
  }
  return undefined
}

const PARENT_TYPES: Partial<Record<Wanted['type'], Wanted['type']>> = {
  project: 'organization',
  credential: 'organization',
  environment: 'project',
  server: 'environment',
  application: 'environment',
  variable: 'application',
  step: 'pipeline',
  hook: 'pipeline',
}

function outer(path: readonly string[]): readonly string[] | undefined {
  if (path[0] === 'organization') return undefined
  if (path[0] === 'project') return ['organization']
  return path.length === 2 ? ['project'] : path.slice(0, -2)
}

type StepPlaces = { moves: Map<string, string | null>; faults: Fault[] }

function placeAllSteps(wanted: readonly Wanted[], { state, goingKeys }: Known): StepPlaces {
  const moves = new Map<string, string | null>()
  const faults: Fault[] = []
  const byPipeline = Map.groupBy(
    wanted.filter((thing) => thing.type === 'step'),
    (step) => keyOf(step.path.slice(0, -2)),
  )
  for (const pipeline of wanted) {
    const steps = byPipeline.get(keyOf(pipeline.path)) ?? []
    if (pipeline.type !== 'pipeline' || steps.length === 0) continue
    const own = steps.filter(({ name, body }) => !isBuiltInName(name) || body.command !== undefined)
    const path = (name: string) => keyOf([...pipeline.path, 'steps', name])
    const today = stepsToday(pipeline.body.operation, pipeline.path, state).filter(
      (name) => !goingKeys.has(path(name)),
    )
    const placed = placeSteps(
      today,
      own.map(({ name, body }) => ({ name, trigger_after: body.trigger_after })),
    )
    for (const [name, after] of placed.moves) moves.set(path(name), after)
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
