// What commands about runs are given: pipelines by name or by what they run on, runs by number or by pipeline.
import type { Gantry } from '@gantry/client'
import { type Action, parseActionId } from '../actions.ts'
import { Failure } from '../ending.ts'
import { EXIT } from '../exit-codes.ts'
import { ambiguous, chooseNamed, type Kind, matching, type Named, readNames } from '../names.ts'

export const RUNNABLE: Kind[] = ['pipeline', 'application', 'server']

export type FoundPipeline = Named & { id: number }

/** A pipeline, or the only one of an application or a server. With `isDeploy`, other pipelines do not count. */
export async function findPipeline(
  gantry: Gantry,
  given: string,
  { isDeploy = false } = {},
): Promise<FoundPipeline> {
  const all = await readNames(gantry, RUNNABLE)
  const found = choosePipelines(all, given)
  return onlyOne(given, isDeploy && found.length > 1 ? await onlyDeploys(gantry, found) : found, all)
}

export function onlyOne(given: string, pipelines: readonly Named[], all: readonly Named[]): FoundPipeline {
  if (pipelines.length > 1) throw ambiguous(given, pipelines, all)
  if (pipelines.length === 0)
    throw new Failure(`"${given}" has no pipeline.`, {
      exit: EXIT.refused,
      hint: 'Create one in the dashboard, or with `gantry apply`.',
    })
  return pipelines[0] as FoundPipeline
}

/** Pipelines of that name win over those of an application of that name. */
export function choosePipelines(all: readonly Named[], given: string): Named[] {
  const matches = matching(all, given)
  const direct = matches.filter(({ type }) => type === 'pipeline')
  if (direct.length > 0) return direct
  if (matches.length === 0)
    return [
      chooseNamed(
        all.filter(({ type }) => type === 'pipeline'),
        ['pipeline'],
        given,
      ),
    ]
  const owner = chooseNamed(all, RUNNABLE, given)
  return all.filter(
    ({ type, resource_type, resource_id }) =>
      type === 'pipeline' && resource_type === owner.type && resource_id === owner.id,
  )
}

async function onlyDeploys(gantry: Gantry, found: Named[]): Promise<Named[]> {
  const [{ resource_type, resource_id }] = found as [Named]
  if (resource_type !== 'application' || found.some((one) => one.resource_id !== resource_id)) return found
  const deploys = new Set<number | string>()
  const params = { path: { resource_id: resource_id! } }
  for await (const { id, operation } of gantry.list('/pipelines/application/{resource_id}', { params }))
    if (operation === 'deploy') deploys.add(id)
  return found.filter(({ id }) => deploys.has(id))
}

/** How help describes what `findActionId` takes. */
export const ACTION = 'a run such as 42, or a pipeline for its newest run'

/** '#42', '42', or a pipeline for its newest run. */
export async function findActionId(gantry: Gantry, given: string): Promise<number> {
  if (/^#?\d+$/.test(given)) return parseActionId(given)
  const { id, path } = await findPipeline(gantry, given)
  const newest = await newestAction(gantry, { 'filter[pipeline_id]': String(id) })
  if (newest === undefined)
    throw new Failure(`${path} has not run yet.`, {
      exit: EXIT.refused,
      hint: `Start it with \`gantry run ${path}\`.`,
    })
  return newest
}

/** The newest run that has not ended. */
export async function findActiveId(gantry: Gantry): Promise<number> {
  const active = 'in-progress,queued,waiting,pending' as never
  const newest = await newestAction(gantry, { 'filter[status]': active })
  if (newest === undefined)
    throw new Failure('Nothing is running.', {
      exit: EXIT.refused,
      hint: 'Name a run, for example `gantry watch 42`; `gantry actions ls` lists them.',
    })
  return newest
}

export async function newestAction(gantry: Gantry, filter: object): Promise<number | undefined> {
  const [action] = await gantry.get('/actions', { params: { query: { ...filter, per_page: 1 } } })
  return action?.id
}

export function readAction(gantry: Gantry, id: number): Promise<Action> {
  return gantry.get('/actions/{action_id}', { params: { path: { action_id: id } } })
}
