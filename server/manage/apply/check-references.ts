import { sortByAfter } from './orders.ts'
import type { Fault } from './positions.ts'
import type { State, Stored } from './state.ts'
import {
  credentialPath,
  isBuiltInName,
  keyOf,
  type PipelineName,
  pipelinePath,
  type Wanted,
} from './things.ts'

/** What a name in the document can mean: something else in it, or something that is there, stays, and may be seen. */
export type Known = {
  wanted: ReadonlyMap<string, Wanted>
  stored: (path: readonly string[]) => Stored | undefined
  state: State
  goingKeys: ReadonlySet<string>
}

export type References = { faults: Fault[]; pipelineOrder: string[] }

/** Names that mean nothing, and what the schema cannot say about steps. Pure. */
export function checkReferences(wanted: readonly Wanted[], known: Known): References {
  const isKnown = (path: readonly string[]) =>
    known.wanted.has(keyOf(path)) || known.stored(path) !== undefined
  const faults = wanted.flatMap((thing) => faultsOf(thing, known, isKnown))
  const pipelines = sortPipelines(wanted, known)
  return { faults: [...faults, ...pipelines.faults], pipelineOrder: pipelines.order }
}

function faultsOf(thing: Wanted, known: Known, isKnown: (path: readonly string[]) => boolean): Fault[] {
  const environment = thing.path.slice(0, 2)
  switch (thing.type) {
    case 'server':
      return credentialFaults(thing, known, isKnown)
    case 'application': {
      const unknown = (thing.body.servers ?? []).flatMap((name, index): Fault[] => {
        if (isKnown([...environment, 'servers', name])) return []
        return [{ path: [...thing.at, 'servers', index], message: 'names no server of this environment' }]
      })
      return [...credentialFaults(thing, known, isKnown), ...unknown]
    }
    case 'pipeline':
      return (thing.body.run_after ?? []).flatMap((name, index): Fault[] => {
        if (isKnown(pipelinePath(environment[1]!, name))) return []
        return [{ path: [...thing.at, 'run_after', index], message: 'names no pipeline of this environment' }]
      })
    case 'step':
      return stepFaults(thing, known)
    default:
      return []
  }
}

function credentialFaults(
  thing: Extract<Wanted, { type: 'server' | 'application' }>,
  { state }: Known,
  isKnown: (path: readonly string[]) => boolean,
): Fault[] {
  const { credential } = thing.body
  // The one that it has already may stay, also for those who cannot see it.
  const isSame = state.things.get(keyOf(thing.path))?.body.credential === credential
  if (credential == null || isSame || isKnown(credentialPath(credential))) return []
  return [{ path: [...thing.at, 'credential'], message: 'names no credential that you may see here' }]
}

function stepFaults(step: Extract<Wanted, { type: 'step' }>, { wanted }: Known): Fault[] {
  const { at, name, body, path } = step
  const faults: Fault[] = []
  if (wanted.get(keyOf(path)) !== step)
    faults.push({ path: [...at, 'name'], message: 'is the name of another step of this pipeline' })
  const pipeline = wanted.get(keyOf(path.slice(0, -2)))
  const isBuiltIn =
    isBuiltInName(name) && pipeline?.type === 'pipeline' && pipeline.body.operation === 'deploy'
  if (!isBuiltIn) {
    if (body.command === undefined)
      faults.push({ path: [...at, 'command'], message: 'is required', onKey: true })
    return faults
  }
  const fixed = Object.keys(body).filter((field) => field !== 'timeout_seconds')
  return [
    ...faults,
    ...fixed.map((field) => ({ path: [...at, field], message: 'is fixed for built-in steps', onKey: true })),
  ]
}

/** All pipelines that there will be, by whom they run after. */
function sortPipelines(
  wanted: readonly Wanted[],
  { state, goingKeys }: Known,
): { faults: Fault[]; order: string[] } {
  const after = new Map<string, string[]>()
  const note = (path: readonly string[], names: readonly PipelineName[] | undefined) => {
    if (names)
      after.set(
        keyOf(path),
        names.map((name) => keyOf(pipelinePath(path[1]!, name))),
      )
  }
  for (const [key, thing] of state.things)
    if (thing.type === 'pipeline' && !goingKeys.has(key))
      note(thing.path, thing.body.run_after as PipelineName[])
  const pipelines = wanted.filter((thing) => thing.type === 'pipeline')
  for (const { path, body } of pipelines)
    note(path, body.run_after ?? (after.has(keyOf(path)) ? undefined : []))
  const sorted = sortByAfter(after)
  if (sorted.kind === 'sorted') return { faults: [], order: sorted.keys }
  const culprit = pipelines.find(({ path, body }) => body.run_after && sorted.keys.includes(keyOf(path)))
  const names = sorted.keys.map((key) => (JSON.parse(key) as string[]).at(-1))
  const message = `makes a circle of pipelines, each after the next: ${names.join(' → ')}`
  return { faults: [{ path: [...(culprit?.at ?? []), 'run_after'], message }], order: [] }
}
