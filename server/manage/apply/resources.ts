import type { IncomingHookChange } from '#model/hooks/schemas.ts'
import { DEPLOY_STEPS } from '#model/pipelines/built-in-steps.ts'
import type { Retention } from '#platform/database/tables.ts'
import type { NamedApproval } from './approvers.ts'
import type { Path } from './problems.ts'
import type {
  ApplicationEntry,
  CredentialEntry,
  FreezeEntry,
  GantryDocument,
  OutgoingEntry,
  PipelineEntry,
  ResourceKind,
  ServerEntry,
  StepEntry,
} from './schemas.ts'

/** A pipeline by names: of which application or server of the environment, and which one. */
export type PipelineName = { application: string; pipeline: string } | { server: string; pipeline: string }

/** The fields of each kind of resource, without the sections below it. An omitted field is left unchanged. */
export type Bodies = {
  organization: object
  project: { logo_url?: string | null }
  credential: CredentialEntry
  environment: {
    type?: 'development' | 'staging' | 'production'
    description?: string | null
    retention?: Partial<Retention> | null
    approval?: NamedApproval | null
  }
  freeze: FreezeEntry
  server: Omit<ServerEntry, 'pipelines'>
  application: Omit<ApplicationEntry, 'pipelines' | 'variables'>
  variable: { value: string; hidden?: boolean }
  pipeline: Omit<PipelineEntry, 'steps' | 'hooks' | 'run_after'> & { run_after?: PipelineName[] }
  step: Omit<StepEntry, 'name'>
  hook: IncomingHookChange | Partial<OutgoingEntry>
}

/** `path` identifies a resource by its names from the project down, in the document and in the database alike. */
export type Resource = { type: ResourceKind; name: string; path: readonly string[] }

/** A resource as the document describes it, at `at`, which differs from its `path` for elements of a list. */
export type DesiredResource<Kind extends ResourceKind = ResourceKind> = {
  [Each in Kind]: Resource & { type: Each; at: Path; body: Bodies[Each] }
}[Kind]

export const keyOf = (path: readonly string[]): string => JSON.stringify(path)

export const ORGANIZATION = ['organization'] as const
export const PROJECT = ['project'] as const
export const credentialPath = (name: string) => ['credentials', name]
export const environmentPath = (name: string) => ['environments', name]

export function pipelinePath(environment: string, name: PipelineName): string[] {
  const host = 'application' in name ? ['applications', name.application] : ['servers', name.server]
  return [...environmentPath(environment), ...host, 'pipelines', name.pipeline]
}

/** Credentials and the project belong to the organization, environments to the project. */
export function parentPath({ type, path }: Resource): readonly string[] | undefined {
  if (type === 'organization') return undefined
  if (type === 'project' || type === 'credential') return ORGANIZATION
  if (type === 'environment') return PROJECT
  return path.slice(0, type === 'hook' ? -3 : -2)
}

/** Which kind of resource a pipeline, or something in one, belongs to. */
export function hostKind(path: readonly string[]): 'application' | 'server' {
  return path[2] === 'applications' ? 'application' : 'server'
}

export type Reference = { type: ResourceKind; path: readonly string[]; at: Path }

/** The resources that a resource names. They must exist before it is created or changed. */
export function referencesOf({ type, at, body, path }: DesiredResource): Reference[] {
  const environment = path.slice(0, 2)
  if (type === 'pipeline')
    return (body.run_after ?? []).map((name, index) => ({
      type,
      path: pipelinePath(environment[1]!, name),
      at: [...at, 'run_after', index],
    }))
  const { credential, servers = [] } = body as { credential?: string | null; servers?: string[] }
  const named = servers.map((name, index) => ({
    type: 'server' as const,
    path: [...environment, 'servers', name],
    at: [...at, 'servers', index],
  }))
  if (!credential) return named
  return [{ type: 'credential', path: credentialPath(credential), at: [...at, 'credential'] }, ...named]
}

/** Every deploy has these steps; a document lists them only to change their timeout. */
export function isBuiltInName(name: string): boolean {
  return DEPLOY_STEPS.some((step) => step.name === name)
}

/** A document → all its resources in document order, each after its parent. Pure. */
export function listResources(document: GantryDocument): DesiredResource[] {
  const { name, ...project } = document.project
  return [
    { type: 'organization', name: document.organization, path: ORGANIZATION, at: ORGANIZATION, body: {} },
    { type: 'project', name, path: PROJECT, at: PROJECT, body: project },
    ...entries(document.credentials).map(([name, body]) =>
      resource('credential', credentialPath(name), body),
    ),
    ...entries(document.environments).flatMap(([name, { freezes, servers, applications, ...body }]) => {
      const path = environmentPath(name)
      return [
        resource('environment', path, body),
        ...entries(freezes).map(([name, entry]) => resource('freeze', [...path, 'freezes', name], entry)),
        ...entries(servers).flatMap(([name, entry]) => listServer([...path, 'servers', name], entry)),
        ...entries(applications).flatMap(([name, entry]) =>
          listApplication([...path, 'applications', name], entry),
        ),
      ]
    }),
  ]
}

function listServer(path: string[], { pipelines, ...body }: ServerEntry): DesiredResource[] {
  return [resource('server', path, body), ...listPipelines(path, pipelines)]
}

function listApplication(path: string[], { pipelines, variables, ...body }: ApplicationEntry) {
  return [
    resource('application', path, body),
    ...entries(variables).map(([name, entry]) =>
      resource(
        'variable',
        [...path, 'variables', name],
        typeof entry === 'string' ? { value: entry } : entry,
      ),
    ),
    ...listPipelines(path, pipelines),
  ]
}

function listPipelines(host: string[], pipelines: ServerEntry['pipelines']): DesiredResource[] {
  return entries(pipelines).flatMap(([name, { steps, hooks, run_after, ...body }]) => {
    const path = [...host, 'pipelines', name]
    const after = run_after && { run_after: run_after.map((one) => completeName(host, one)) }
    return [
      resource('pipeline', path, { ...body, ...after }),
      ...(steps ?? []).map(({ name, ...step }, index) =>
        resource('step', [...path, 'steps', name], step, [...path, 'steps', index]),
      ),
      ...(['incoming', 'outgoing'] as const).flatMap((direction) =>
        entries<Bodies['hook']>(hooks?.[direction]).map(([name, hook]) =>
          resource('hook', [...path, 'hooks', direction, name], hook),
        ),
      ),
    ]
  })
}

function resource<Kind extends ResourceKind>(
  type: Kind,
  path: string[],
  body: Bodies[Kind],
  at: Path = path,
): DesiredResource {
  return { type, name: path.at(-1)!, path, at, body } as DesiredResource
}

function completeName(
  host: string[],
  name: string | { application?: string; server?: string; pipeline: string },
): PipelineName {
  const sameHost = { [host.at(-2) === 'applications' ? 'application' : 'server']: host.at(-1)! }
  if (typeof name === 'string') return { ...sameHost, pipeline: name } as PipelineName
  const namesHost = name.application !== undefined || name.server !== undefined
  return (namesHost ? name : { ...sameHost, ...name }) as PipelineName
}

function entries<Entry>(section: Record<string, Entry> | null | undefined): [string, Entry][] {
  return Object.entries(section ?? {})
}
