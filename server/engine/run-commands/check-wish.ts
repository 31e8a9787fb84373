import { readSource } from '#adapters/repositories/source.ts'
import { chooseSource, type Source } from '#model/payload/choose-source.ts'
import { coerce, type VariableType, type VariableValue } from '#model/payload/coerce.ts'
import type { ErrorsByField } from '#platform/http/validation.ts'
import type { RunnablePipeline } from './load-pipeline.ts'
import type { RunInput } from './schemas.ts'

// What a schema cannot say about the wish for a run. Pure: a wish → its faults, all at once.

const MOST_STRANGERS = 100

/** The servers in a wish that the pipeline does not have, by field. */
export function findStrangers({ servers = [] }: RunInput, { definition }: RunnablePipeline): ErrorsByField {
  const known = new Set(definition.servers.map(({ id }) => id))
  const strangers = servers.flatMap((id, index) => (known.has(id) ? [] : [{ id, index }]))
  return Object.fromEntries(
    strangers
      .slice(0, MOST_STRANGERS)
      .map(({ id, index }) => [`servers.${index}`, [`${id} is not a server of this pipeline`]]),
  )
}

type AddError = (field: string, message: string) => void

const MOST_FIELD_CHARACTERS = 256

export function checkWish(wish: RunInput, { application }: RunnablePipeline): ErrorsByField {
  const found: ErrorsByField = {}
  const add: AddError = (field, message) => {
    const key = field.slice(0, MOST_FIELD_CHARACTERS)
    found[key] = [...(found[key] ?? []), message]
  }
  if (application) checkSource(wish, application.defaultBranch, add)
  else refuseSource(wish, add)
  checkVariables(wish.variables ?? {}, add)
  return found
}

/** What a deploy takes when it does not repeat an earlier one. */
export function sourceOf(
  { source_type = 'branch', source_ref = '' }: Pick<RunInput, 'source_type' | 'source_ref'>,
  defaultBranch: string,
): Source {
  return chooseSource({ source_type, source_ref }, defaultBranch)
}

function refuseSource(wish: RunInput, add: AddError): void {
  for (const field of ['type', 'source_type', 'source_ref'] as const)
    if (wish[field] !== undefined) add(field, 'is for pipelines that deploy an application')
}

function checkSource(wish: RunInput, defaultBranch: string, add: AddError): void {
  const { type = 'deploy', source_type, source_ref } = wish
  if (type !== 'deploy') {
    for (const field of ['source_type', 'source_ref'] as const)
      if (wish[field] !== undefined) add(field, `cannot be chosen: a ${type} takes an earlier release`)
    return
  }
  if (source_ref === undefined) {
    if (source_type !== undefined && source_type !== 'branch')
      add('source_ref', `is required: which ${source_type}?`)
    return
  }
  const source = sourceOf(wish, defaultBranch)
  if (source_type !== undefined && source.source_type !== source_type)
    add('source_ref', `is the full name of a ${source.source_type}, not of a ${source_type}`)
  const read = readSource({ type: source.source_type, ref: source.source_ref })
  if (read.kind === 'impossible') add('source_ref', read.message)
}

const NAME = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/

function checkVariables(variables: Record<string, VariableValue>, add: AddError): void {
  const seen = new Set<string>()
  for (const [name, value] of Object.entries(variables)) {
    const field = `variables.${name}`
    if (!NAME.test(name))
      add(
        field,
        'the name must begin with a letter or _, then letters, digits, _ or -, at most 64 characters',
      )
    if (seen.has(name.toLowerCase()))
      add(field, 'is used by another variable (upper and lower case count as the same)')
    seen.add(name.toLowerCase())
    const read = coerce(typeOf(value), value, () => String(value))
    if (read.kind === 'fault') add(field, read.message)
  }
}

function typeOf(value: VariableValue): VariableType {
  if (Array.isArray(value)) return 'array'
  if (typeof value === 'number') return 'integer'
  return typeof value === 'boolean' ? 'boolean' : 'string'
}
