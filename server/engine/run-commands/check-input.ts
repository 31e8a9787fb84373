import { readSource } from '#adapters/repositories/source.ts'
import { chooseSource, type Source } from '#model/payload/choose-source.ts'
import { coerce, type VariableValue } from '#model/payload/coerce.ts'
import { FieldErrors } from '#platform/http/problems.ts'
import type { ErrorsByField } from '#platform/http/validation.ts'
import type { RunnablePipeline } from './load-pipeline.ts'
import type { RunInput } from './schemas.ts'

// What a schema cannot check about the input of a run. Pure: an input → its errors, all at once.

const MAX_REPORTED = 100

/** The servers in an input that the pipeline does not have, by field. */
export function findUnknownServers(
  { servers = [] }: RunInput,
  { definition }: RunnablePipeline,
): ErrorsByField {
  const known = new Set(definition.servers.map(({ id }) => id))
  const unknown = servers.flatMap((id, index) => (known.has(id) ? [] : [{ id, index }]))
  return Object.fromEntries(
    unknown
      .slice(0, MAX_REPORTED)
      .map(({ id, index }) => [`servers.${index}`, [`${id} is not a server of this pipeline`]]),
  )
}

const MAX_FIELD_CHARACTERS = 256

export function checkInput(input: RunInput, { application }: RunnablePipeline): ErrorsByField {
  const errors = new FieldErrors()
  if (application) checkSource(input, application.defaultBranch, errors)
  else {
    const fields = ['type', 'source_type', 'source_ref', 'release_name', 'rollback_from'] as const
    rejectFields(input, fields, 'is only for deploy pipelines', errors)
  }
  checkVariables(input.variables ?? {}, errors)
  return errors.found
}

/** The source of a deploy that does not repeat an earlier one. */
export function sourceOf(
  { source_type = 'branch', source_ref = '' }: Pick<RunInput, 'source_type' | 'source_ref'>,
  defaultBranch: string,
): Source {
  return chooseSource({ source_type, source_ref }, defaultBranch)
}

function rejectFields(
  input: RunInput,
  fields: readonly (keyof RunInput)[],
  message: string,
  errors: FieldErrors,
): void {
  for (const field of fields) if (input[field] !== undefined) errors.add(field, message)
}

function checkSource(input: RunInput, defaultBranch: string, errors: FieldErrors): void {
  const { type = 'deploy', source_type, source_ref } = input
  if (type !== 'rollback')
    rejectFields(input, ['release_name', 'rollback_from'], 'is only for rollbacks', errors)
  if (type !== 'deploy') {
    const message = `cannot be set: a ${type} uses an earlier release`
    rejectFields(input, ['source_type', 'source_ref'], message, errors)
    return
  }
  if (source_ref === undefined) {
    if (source_type !== undefined && source_type !== 'branch')
      errors.add('source_ref', `is required when source_type is ${source_type}`)
    return
  }
  const source = sourceOf(input, defaultBranch)
  if (source_type !== undefined && source.source_type !== source_type)
    errors.add('source_ref', `is the full name of a ${source.source_type}, not of a ${source_type}`)
  const read = readSource({ type: source.source_type, ref: source.source_ref })
  if (read.kind === 'impossible') errors.add('source_ref', read.message)
}

const NAME = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/

function checkVariables(variables: Record<string, VariableValue>, errors: FieldErrors): void {
  const seen = new Set<string>()
  for (const [name, value] of Object.entries(variables)) {
    const field = `variables.${name}`.slice(0, MAX_FIELD_CHARACTERS)
    if (!NAME.test(name))
      errors.add(
        field,
        'must start with a letter or _, followed by letters, digits, _ or -; at most 64 characters',
      )
    if (seen.has(name.toLowerCase())) errors.add(field, 'is a duplicate: variable names are case-insensitive')
    seen.add(name.toLowerCase())
    const type = Array.isArray(value) ? 'array' : typeof value === 'number' ? 'integer' : typeof value
    const read = coerce(type as 'array' | 'integer' | 'boolean' | 'string', value, () => String(value))
    if (read.kind === 'invalid') errors.add(field, read.message)
  }
}
