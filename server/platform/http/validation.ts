import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import addFormats from 'ajv-formats'
import type { FastifySchemaCompiler } from 'fastify'
import type { TSchema } from 'typebox'

export type ErrorsByField = Record<string, string[]>

const MOST_ERRORS = 100

/**
 * Two validators: a body means what it says, while everything in an address is text, of which numbers and
 * booleans are made first. Not by Ajv's coercion, for which `0x1` and `1e0` are numbers too.
 *
 * A schema is compiled when the first request needs it: compiling all two hundred takes longer than the rest of a start.
 */
export function createValidatorCompiler(schemas: readonly TSchema[]): FastifySchemaCompiler<TSchema> {
  const options = { allErrors: true, removeAdditional: false, verbose: true, strict: false } as const
  // No defaults in bodies either: in a change, a field that is not given keeps what is stored.
  const bodies = new Ajv({ ...options, useDefaults: false })
  const addresses = new Ajv({ ...options, useDefaults: true })
  for (const ajv of [bodies, addresses]) {
    addFormats.default(ajv)
    ajv.addSchema([...schemas])
  }
  return ({ schema, httpPart }) => {
    const isBody = httpPart === 'body'
    let validate: ValidateFunction | undefined
    return (given: Record<string, unknown>) => {
      validate ??= (isBody ? bodies : addresses).compile(schema)
      const value = isBody ? given : readTexts(schema, given)
      return validate(value) ? { value } : { error: validate.errors ?? [] }
    }
  }
}

type Fields = { properties?: Record<string, { type?: unknown }> }

function readTexts(schema: TSchema, texts: Record<string, unknown>): Record<string, unknown> {
  const { properties = {} } = schema as Fields
  return Object.fromEntries(
    Object.entries(texts ?? {}).map(([name, text]) => [name, readText(properties[name]?.type, text)]),
  )
}

/** What is not written as the wanted type stays text, which validation then refuses. */
function readText(type: unknown, text: unknown): unknown {
  if (typeof text !== 'string') return text
  if (type === 'integer' && /^-?(0|[1-9]\d*)$/.test(text)) return Number(text)
  if (type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true'
  return text
}

/** All faults at once, under dotted field paths; what concerns the whole body stands under `body`. */
export function errorsByField(faults: readonly ErrorObject[]): ErrorsByField {
  const errors: ErrorsByField = {}
  for (const fault of faults.slice(0, MOST_ERRORS)) {
    // Says only that one of its parts failed, which is reported by itself.
    if (fault.keyword === 'if' || fault.keyword === 'anyOf') continue
    const field = fieldOf(fault) || 'body'
    const message = messageFor(fault)
    const known = Object.hasOwn(errors, field) ? errors[field]! : []
    if (!known.includes(message)) known.push(message)
    Object.defineProperty(errors, field, {
      value: known,
      enumerable: true,
      configurable: true,
      writable: true,
    })
  }
  return errors
}

function fieldOf({ instancePath, keyword, params }: ErrorObject): string {
  const parts = instancePath.split('/').slice(1).map(unescapePointer)
  if (keyword === 'required') parts.push(params.missingProperty)
  if (keyword === 'additionalProperties') parts.push(params.additionalProperty)
  return parts.join('.').slice(0, 256)
}

function messageFor({ keyword, params, message, parentSchema }: ErrorObject): string {
  switch (keyword) {
    case 'required':
      return 'is required'
    case 'additionalProperties':
      return `is not known here; known: ${Object.keys(parentSchema?.properties ?? {}).join(', ') || 'nothing'}`
    case 'enum':
      return `must be one of: ${params.allowedValues.join(', ')}`
    case 'const':
      return `must be ${JSON.stringify(params.allowedValue)}`
    case 'type':
      return `must be ${[params.type].flat().map(withArticle).join(' or ')}`
    case 'minLength':
      return params.limit === 1 ? 'must not be empty' : `must have ${params.limit} characters or more`
    case 'maxLength':
      return `must have ${params.limit} characters or fewer`
    case 'minItems':
      return `must have ${items(params.limit)} or more`
    case 'maxItems':
      return `must have ${items(params.limit)} or fewer`
    case 'minimum':
      return `must be ${params.limit} or more`
    case 'maximum':
      return `must be ${params.limit} or less`
    case 'uniqueItems':
      return 'must not list the same thing twice'
    case 'pattern':
      return parentSchema?.['x-hint'] ?? `must match ${params.pattern}`
    case 'format':
      return `must be a valid ${params.format}`
    default:
      return message ?? 'is wrong'
  }
}

function items(count: number): string {
  return count === 1 ? '1 item' : `${count} items`
}

function withArticle(type: string): string {
  if (type === 'null') return 'null'
  return `${/^[aeiou]/.test(type) ? 'an' : 'a'} ${type}`
}

function unescapePointer(part: string): string {
  return part.replaceAll('~1', '/').replaceAll('~0', '~')
}
