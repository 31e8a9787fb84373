import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import addFormats from 'ajv-formats'
import type { TSchema } from 'typebox'

export type ErrorsByField = Record<string, string[]>

const MAX_ERRORS = 100

/**
 * Two validators: a body is validated as it is, while everything in a URL is text, from which numbers and booleans
 * are parsed first. Not by Ajv's coercion, which accepts `0x1` and `1e0` as numbers.
 *
 * A schema is compiled when the first request needs it: compiling all two hundred takes longer than the rest of a start.
 * Whether the schemas are valid ones is a question for tests, which check the OpenAPI document that is made of them.
 */
export function createValidatorCompiler(schemas: readonly TSchema[]) {
  const options = {
    allErrors: true,
    removeAdditional: false,
    verbose: true,
    strict: false,
    validateSchema: false,
  } as const
  // No defaults in bodies: in an update, an omitted field keeps its stored value.
  const bodies = new Ajv({ ...options, useDefaults: false })
  const urls = new Ajv({ ...options, useDefaults: true })
  for (const ajv of [bodies, urls]) {
    addFormats.default(ajv)
    ajv.addSchema([...schemas])
  }
  return ({ schema, httpPart }: { schema: TSchema; httpPart?: string }) => {
    const isBody = httpPart === 'body'
    let validate: ValidateFunction | undefined
    return (given: unknown): { value: unknown } | { error: ErrorObject[] } => {
      validate ??= (isBody ? bodies : urls).compile(schema)
      const value = isBody ? given : parseTexts(schema, given as Record<string, unknown>)
      return validate(value) ? { value } : { error: validate.errors ?? [] }
    }
  }
}

function parseTexts(schema: TSchema, texts: Record<string, unknown>): Record<string, unknown> {
  const { properties = {} } = schema as { properties?: Record<string, { type?: unknown }> }
  return Object.fromEntries(
    Object.entries(texts ?? {}).map(([name, text]) => [name, parseText(properties[name]?.type, text)]),
  )
}

/** Text that is not of the declared type stays text, which validation then rejects. */
function parseText(type: unknown, text: unknown): unknown {
  if (typeof text !== 'string') return text
  if (type === 'integer' && /^-?(0|[1-9]\d*)$/.test(text)) return toFinite(Number(text))
  if (type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true'
  return text
}

/** Infinity is no integer, while the text of hundreds of digits that it comes from is one. */
function toFinite(number: number): number {
  return Math.min(Math.max(number, -Number.MAX_VALUE), Number.MAX_VALUE)
}

/** All errors, by dotted field path; those of the whole body are under `body`. */
export function errorsByField(found: readonly ErrorObject[]): ErrorsByField {
  // `if` and `anyOf` only say that one of their parts failed, which is reported on its own.
  const errors = found
    .slice(0, MAX_ERRORS)
    .filter(({ keyword }) => keyword !== 'if' && keyword !== 'anyOf')
    .map((error) => ({ field: fieldOf(error) || 'body', message: messageFor(error) }))
  const messages = (list: typeof errors) => [...new Set(list.map(({ message }) => message))]
  const fields = Map.groupBy(errors, ({ field }) => field)
  return Object.fromEntries([...fields].map(([field, list]) => [field, messages(list)]))
}

function fieldOf({ instancePath, keyword, params }: ErrorObject): string {
  const parts = instancePath.split('/').slice(1).map(unescapePointer)
  if (keyword === 'required') parts.push(params.missingProperty)
  if (keyword === 'additionalProperties') parts.push(params.additionalProperty)
  return parts.join('.').slice(0, 256)
}

function messageFor({ keyword, params, message, parentSchema = {} }: ErrorObject): string {
  return MESSAGES[keyword]?.(params, parentSchema) ?? message ?? 'is invalid'
}

// biome-ignore lint/suspicious/noExplicitAny: Ajv types neither the parameters of a keyword nor its schema
const MESSAGES: Record<string, (params: any, schema: any) => string> = {
  required: () => 'is required',
  additionalProperties: (_, { properties = {} }) =>
    `is not recognized; expected: ${Object.keys(properties).join(', ') || 'nothing'}`,
  enum: ({ allowedValues }) => `must be one of: ${allowedValues.join(', ')}`,
  const: ({ allowedValue }) => `must be ${JSON.stringify(allowedValue)}`,
  type: ({ type }) => `must be ${[type].flat().map(withArticle).join(' or ')}`,
  minLength: ({ limit }) => (limit === 1 ? 'must not be empty' : `must have ${limit} characters or more`),
  maxLength: ({ limit }) => `must have ${limit} characters or fewer`,
  minItems: ({ limit }) => `must have ${items(limit)} or more`,
  maxItems: ({ limit }) => `must have ${items(limit)} or fewer`,
  minimum: ({ limit }) => `must be ${limit} or more`,
  maximum: ({ limit }) => `must be ${limit} or less`,
  uniqueItems: () => 'must not contain duplicates',
  pattern: ({ pattern }, schema) => schema['x-hint'] ?? `must match ${pattern}`,
  format: ({ format }) => `must be a valid ${format}`,
}

function items(count: number): string {
  return count === 1 ? '1 item' : `${count} items`
}

export function withArticle(type: string): string {
  if (type === 'null') return 'null'
  return `${/^[aeiou]/.test(type) ? 'an' : 'a'} ${type}`
}

function unescapePointer(part: string): string {
  return part.replaceAll('~1', '/').replaceAll('~0', '~')
}
