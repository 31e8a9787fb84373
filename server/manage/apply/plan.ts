import type { Caller } from '#access/authorization/caller.ts'
import { PRESET_ALONE } from '#manage/hooks/validate-requests.ts'
import { compare, type FieldChange } from './compare.ts'
import { mayView, missingFor, missingToChange, missingToNameUsers, missingToRemove } from './permissions.ts'
import type { Problem } from './problems.ts'
import type { ApplyInput } from './read-input.ts'
import {
  type Bodies,
  type DesiredResource,
  isBuiltInName,
  keyOf,
  parentPath,
  type Resource,
  referencesOf,
} from './resources.ts'
import type { ResourceKind } from './schemas.ts'
import { type Move, sequencePipelines, sequenceSteps } from './sequence.ts'
import type { State, StoredResource } from './stored-state.ts'

/** A resource to create or to change. */
export type Upsert<Kind extends ResourceKind = ResourceKind> = {
  verb: 'create' | 'change'
  desired: DesiredResource<Kind>
  /** Undefined for a new resource, and for a built-in step of a new pipeline. */
  stored?: StoredResource
  fields: FieldChange[]
  /** Of a step: the one that it must follow; undefined: it stays in position. */
  after?: string | null
}

/** `withParent`: its parent is removed too, and takes it along. */
export type Removal = { verb: 'delete'; stored: StoredResource; fields: FieldChange[]; withParent: boolean }

export type PlannedChange = Upsert | Removal

export type Plan = {
  /** In document order, removals last. */
  changes: PlannedChange[]
  problems: Problem[]
  /** The keys of pipelines, each after those that it runs after. */
  pipelineOrder: string[]
}

export const DEFAULT_TIMEOUT_SECONDS = 600

export function resourceOf(change: PlannedChange): Resource {
  return change.verb === 'delete' ? change.stored : change.desired
}

/** A change sends only what differs. */
export function changedFields<Kind extends ResourceKind>({ fields, desired }: Upsert<Kind>): Bodies[Kind] {
  const changed = new Set(fields.map(({ field }) => field))
  const entries = Object.entries(desired.body).filter(([field]) => changed.has(field))
  return Object.fromEntries(entries) as Bodies[Kind]
}

/** The changes that make the stored state match the document, and what prevents them. Pure. */
export function makePlan(
  { desired, prune, isFilled }: ApplyInput,
  context: { state: State; caller: Caller },
): Plan {
  const { state, caller } = context
  const { resources, duplicates } = state
  const byKey = new Map(desired.map((resource) => [keyOf(resource.path), resource]))
  const removed = new Map(
    prune ? [...resources].filter(([key, stored]) => isPrunable(stored) && !byKey.has(key)) : [],
  )
  const removedKeys = new Set(removed.keys())
  const isVisible = (key: string) => {
    const stored = resources.get(key)
    return stored !== undefined && !removed.has(key) && mayView(caller, stored)
  }
  const pipelines = sequencePipelines(desired, state, removedKeys)
  const steps = sequenceSteps(desired, state, removedKeys)
  const problems: Problem[] = [
    ...desired.flatMap((resource) =>
      checkReferences(resource, resources.get(keyOf(resource.path)), { desired: byKey, isVisible }),
    ),
    ...pipelines.problems,
    ...steps.problems,
  ]
  const changes: PlannedChange[] = []
  for (const resource of desired) {
    const key = keyOf(resource.path)
    const { type, at } = resource
    const stored = resources.get(key)
    const missing = [
      ...missingFor(context, resource, stored),
      ...missingToNameUsers(context, resource, stored),
    ]
    if (missing.length > 0) {
      problems.push(forbidden(at, missing))
      continue
    }
    if (duplicates.has(key)) {
      const message = `several ${type}s have this name: rename them first`
      problems.push({ kind: 'conflict', path: at, message, onKey: true })
      continue
    }
    const change = planUpsert(resource, stored, isFilled, steps.moves.get(key))
    if (!change) continue
    const more = change.verb === 'change' ? missingToChange(context, resource, stored) : []
    if (more.length > 0) problems.push(forbidden(at, more))
    changes.push(change)
  }
  for (const stored of removed.values()) {
    const parent = parentPath(stored)
    const withParent = parent !== undefined && removed.has(keyOf(parent))
    changes.push({ verb: 'delete', stored, fields: [], withParent })
    const missing = missingToRemove(caller, stored)
    if (missing.length > 0)
      problems.push({ ...forbidden(stored.path, missing, ' to be removed'), onKey: false })
  }
  return { changes, problems, pipelineOrder: pipelines.keys }
}

function forbidden(path: Problem['path'], missing: string[], purpose = ''): Problem {
  return { kind: 'forbidden', path, message: `requires ${missing.join(' and ')}${purpose}`, onKey: true }
}

/** Organizations and credentials extend beyond the project that the document describes. */
function isPrunable({ type, builtIn }: StoredResource): boolean {
  return !builtIn && !['organization', 'project', 'credential'].includes(type)
}

function planUpsert(
  desired: DesiredResource,
  stored: StoredResource | undefined,
  isFilled: ApplyInput['isFilled'],
  move: Move | undefined,
): Upsert | undefined {
  const isBuiltIn =
    desired.type === 'step' && isBuiltInName(desired.name) && desired.body.command === undefined
  const compared = stored ?? (isBuiltIn ? newBuiltIn(desired) : undefined)
  const fields = compare(desired, compared, isFilled)
  if (move) fields.push({ field: 'trigger_after', before: move.before ?? null, after: move.after })
  if (compared && fields.length === 0) return undefined
  return { verb: compared ? 'change' : 'create', desired, stored, fields, after: move?.after }
}

/** The built-in step of a pipeline that is about to be created. */
function newBuiltIn({ name, path }: DesiredResource): StoredResource {
  const body = { timeout_seconds: DEFAULT_TIMEOUT_SECONDS }
  return { type: 'step', name, path, id: 0, scope: { organization_id: 0 }, body, builtIn: true }
}

/** What a name in the document can refer to: a resource in it, or a stored one that is kept and visible. */
type Known = {
  desired: ReadonlyMap<string, DesiredResource>
  isVisible: (key: string) => boolean
}

/** References that cannot be resolved, and rules that the schema cannot express. Pure. */
function checkReferences(
  resource: DesiredResource,
  stored: StoredResource | undefined,
  { desired, isVisible }: Known,
): Problem[] {
  if (resource.type === 'step') return checkStep(resource, desired)
  return [...checkPreset(resource), ...checkNames(resource, stored, { desired, isVisible })]
}

/** Otherwise a URL that is that of the preset today would differ as soon as the preset sends to another one. */
function checkPreset({ type, body, at }: DesiredResource): Problem[] {
  if (type !== 'hook' || !('target_url' in body) || !body.settings || !('preset' in body.settings)) return []
  return [{ path: [...at, 'target_url'], message: PRESET_ALONE }]
}

function checkNames(
  resource: DesiredResource,
  stored: StoredResource | undefined,
  { desired, isVisible }: Known,
): Problem[] {
  return referencesOf(resource).flatMap(({ type, path, at }): Problem[] => {
    const key = keyOf(path)
    // A resource may keep its credential, even if the caller cannot see it.
    const isKept = type === 'credential' && stored?.body.credential === path.at(-1)
    if (isKept || desired.has(key) || isVisible(key)) return []
    const where = type === 'credential' ? 'that you can view in this organization' : 'in this environment'
    return [{ path: at, message: `is not a ${type} ${where}` }]
  })
}

function checkStep(step: DesiredResource<'step'>, desired: Known['desired']): Problem[] {
  const { at, name, body, path } = step
  const problems: Problem[] = []
  if (desired.get(keyOf(path)) !== step)
    problems.push({ path: [...at, 'name'], message: 'is used by another step of this pipeline' })
  const pipeline = desired.get(keyOf(path.slice(0, -2)))
  const isDeploy = pipeline?.type === 'pipeline' && pipeline.body.operation === 'deploy'
  const invalid = (field: string, message: string) =>
    problems.push({ path: [...at, field], message, onKey: true })
  if (isDeploy && isBuiltInName(name)) {
    for (const field of Object.keys(body))
      if (field !== 'timeout_seconds') invalid(field, 'is fixed for built-in steps')
  } else if (body.command === undefined) invalid('command', 'is required')
  return problems
}
