import type { IncomingHookChange, OutgoingHookChange } from '#model/hooks/schemas.ts'
import { DEPLOY_STEPS } from '#model/pipelines/built-in-steps.ts'
import type { Path } from './positions.ts'
import type {
  ApplicationEntry,
  CredentialEntry,
  GantryDocument,
  PipelineEntry,
  ServerEntry,
  StepEntry,
  ThingType,
} from './schemas.ts'

/** A pipeline by names: which resource of the environment, and which pipeline of it. */
export type PipelineName = { application: string; pipeline: string } | { server: string; pipeline: string }

type Own<Entry, Section extends PropertyKey> = Omit<Entry, Section>

/** What the document says about each type of thing, without what stands below it. A field left out is not spoken of. */
export type Bodies = {
  organization: object
  project: { logo_url?: string | null }
  credential: CredentialEntry
  environment: { type?: 'development' | 'staging' | 'production'; description?: string | null }
  server: Own<ServerEntry, 'pipelines'>
  application: Own<ApplicationEntry, 'pipelines' | 'variables'>
  variable: { value: string; hidden?: boolean }
  pipeline: Own<PipelineEntry, 'steps' | 'hooks' | 'run_after'> & { run_after?: PipelineName[] }
  step: Own<StepEntry, 'name'>
  hook: IncomingHookChange | OutgoingHookChange
}

/**
 * A thing by its names from the project down (`path`): that is what it is known by, in the document and in the
 * database. `at` is where the document speaks of it; the two differ for what stands in a list.
 */
export type Thing = { type: ThingType; name: string; path: readonly string[] }

export type Wanted = { [Type in ThingType]: Thing & { type: Type; at: Path; body: Bodies[Type] } }[ThingType]

export const keyOf = (path: readonly string[]): string => JSON.stringify(path)

export const ORGANIZATION = ['organization'] as const
export const PROJECT = ['project'] as const
export const credentialPath = (name: string) => ['credentials', name]
export const environmentPath = (name: string) => ['environments', name]

/** The path of what it stands in. Credentials and the project stand in the organization, environments in the project. */
export function parentOf({ type, path }: Thing): readonly string[] | undefined {
  if (type === 'organization') return undefined
  if (type === 'project' || type === 'credential') return ORGANIZATION
  if (type === 'environment') return PROJECT
  return path.slice(0, type === 'hook' ? -3 : -2)
}

export function pipelinePath(environment: string, name: PipelineName): string[] {
  const resource = 'application' in name ? ['applications', name.application] : ['servers', name.server]
  return [...environmentPath(environment), ...resource, 'pipelines', name.pipeline]
}

/** What must be there before it can be made or changed: what it stands in, and what it names. */
export function neededBy(thing: Wanted): (readonly string[])[] {
  const parent = parentOf(thing)
  const needs: (readonly string[])[] = parent ? [parent] : []
  const environment = thing.path.slice(0, 2)
  if ((thing.type === 'server' || thing.type === 'application') && thing.body.credential)
    needs.push(credentialPath(thing.body.credential))
  if (thing.type === 'application')
    needs.push(...(thing.body.servers ?? []).map((name) => [...environment, 'servers', name]))
  if (thing.type === 'pipeline')
    needs.push(...(thing.body.run_after ?? []).map((name) => pipelinePath(environment[1]!, name)))
  return needs
}

/** A document → everything in it, in its order; what stands in something comes after it. Pure. */
export function listThings(document: GantryDocument): Wanted[] {
  const { name: _, ...project } = document.project
  return [
    { type: 'organization', name: document.organization, path: ORGANIZATION, at: ORGANIZATION, body: {} },
    { type: 'project', name: document.project.name, path: PROJECT, at: PROJECT, body: project },
    ...entriesOf(document.credentials).map(([name, body]): Wanted => {
      const path = credentialPath(name)
      return { type: 'credential', name, path, at: path, body }
    }),
    ...entriesOf(document.environments).flatMap(([name, { servers, applications, ...body }]): Wanted[] => {
      const path = environmentPath(name)
      return [
        { type: 'environment', name, path, at: path, body },
        ...entriesOf(servers).flatMap(([server, entry]) => listServer([...path, 'servers', server], entry)),
        ...entriesOf(applications).flatMap(([application, entry]) =>
          listApplication([...path, 'applications', application], entry),
        ),
      ]
    }),
  ]
}

function listServer(path: string[], { pipelines, ...body }: ServerEntry): Wanted[] {
  const name = path.at(-1)!
  return [{ type: 'server', name, path, at: path, body }, ...listPipelines(path, pipelines)]
}

function listApplication(path: string[], { pipelines, variables, ...body }: ApplicationEntry): Wanted[] {
  const name = path.at(-1)!
  return [
    { type: 'application', name, path, at: path, body },
    ...entriesOf(variables).map(([variable, entry]): Wanted => {
      const at = [...path, 'variables', variable]
      const body = typeof entry === 'string' ? { value: entry } : entry
      return { type: 'variable', name: variable, path: at, at, body }
    }),
    ...listPipelines(path, pipelines),
  ]
}

function listPipelines(resource: string[], pipelines: ServerEntry['pipelines']): Wanted[] {
  return entriesOf(pipelines).flatMap(([name, { steps, hooks, run_after, ...body }]): Wanted[] => {
    const path = [...resource, 'pipelines', name]
    const after = run_after && { run_after: run_after.map((one) => completeName(resource, one)) }
    return [
      { type: 'pipeline', name, path, at: path, body: { ...body, ...after } },
      ...(steps ?? []).map(({ name: step, ...content }, index): Wanted => {
        const at = [...path, 'steps', index]
        return { type: 'step', name: step, path: [...path, 'steps', step], at, body: content }
      }),
      ...(['incoming', 'outgoing'] as const).flatMap((direction) =>
        entriesOf<Bodies['hook']>(hooks?.[direction]).map(([hook, content]): Wanted => {
          const at = [...path, 'hooks', direction, hook]
          return { type: 'hook', name: hook, path: at, at, body: content }
        }),
      ),
    ]
  })
}

function completeName(
  resource: string[],
  name: string | { application?: string; server?: string; pipeline: string },
): PipelineName {
  const own = resource.at(-2) === 'applications' ? 'application' : 'server'
  if (typeof name === 'string') return { [own]: resource.at(-1)!, pipeline: name } as PipelineName
  const isOfOther = name.application !== undefined || name.server !== undefined
  return (isOfOther ? name : { [own]: resource.at(-1)!, ...name }) as PipelineName
}

function entriesOf<Entry>(section: Record<string, Entry> | null | undefined): [string, Entry][] {
  return Object.entries(section ?? {})
}

/** Which kind of resource a pipeline, or something in one, stands in. */
export function resourceOf(path: readonly string[]): 'application' | 'server' {
  return path[2] === 'applications' ? 'application' : 'server'
}

/** Steps that every deploy has already: a document speaks of them only to change how long they may take. */
export function isBuiltInName(name: string): boolean {
  return DEPLOY_STEPS.some((step) => step.name === name)
}
