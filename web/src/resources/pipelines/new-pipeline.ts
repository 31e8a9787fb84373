// What a new pipeline is called and does, unless a person says otherwise. Pure.
import { OPERATIONS } from '#client/index.ts'
import type { Pipeline } from '#web/base/api/types.ts'

export type Operation = Pipeline['operation']

/** What they run on, as `GET /names` lists it. */
export type Resource = { type: 'application' | 'server'; id: number; name: string }

const MAX_NAME_LENGTH = 255

/** Only applications are deployed. */
export function operationsOf(type: Resource['type']): Operation[] {
  const all = Object.keys(OPERATIONS) as Operation[]
  return type === 'application' ? all : all.filter((operation) => operation !== 'deploy')
}

const defaultOperation = (type: Resource['type']): Operation => (type === 'application' ? 'deploy' : 'custom')

export function defaultName(operation: Operation, resource: string): string {
  const verb = operation === 'custom' ? 'Commands on' : OPERATIONS[operation]
  return `${verb} ${resource}`.slice(0, MAX_NAME_LENGTH)
}

/** What the person entered; an empty resource and operation and no name stand for what is proposed. */
export type NewPipelineValues = { resource: string; operation: Operation | ''; name: string | null }

/** What is sent: what was entered, else what is proposed. The first known resource is proposed. */
export function fillIn<Known extends Resource>(
  { resource, operation: entered, name }: NewPipelineValues,
  known: ReadonlyMap<string, Known>,
): { resource: Known | undefined; operation: Operation; name: string } {
  const chosen = resource === '' ? known.values().next().value : known.get(resource)
  const type = chosen?.type ?? 'application'
  const operation = entered !== '' && operationsOf(type).includes(entered) ? entered : defaultOperation(type)
  return { resource: chosen, operation, name: name ?? (chosen ? defaultName(operation, chosen.name) : '') }
}

/** `application:12`. */
export const resourceKey = ({ type, id }: Pick<Resource, 'type' | 'id'>): string => `${type}:${id}`

/** Undefined for anything that is not such a key: it comes from the URL. */
export function parseResourceKey(key: string | null): Pick<Resource, 'type' | 'id'> | undefined {
  const [, type, id] = key?.match(/^(application|server):([1-9]\d{0,14})$/) ?? []
  return type === undefined ? undefined : { type: type as Resource['type'], id: Number(id) }
}
