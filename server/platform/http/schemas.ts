// HTTP: errors, validation, parsing, pagination and the OpenAPI document. This file holds the building blocks of the
// schemas that validate, type and document requests and responses; rooms import it as `t`.
import {
  type Static,
  type TArrayOptions,
  type TNumberOptions,
  type TOptional,
  type TSchema,
  type TSchemaOptions,
  type TStringOptions,
  Type,
} from 'typebox'

export type { Static, TObject, TProperties, TSchema } from 'typebox'
export { Literal, Null, Object, Optional, Partial, Record, Union, Unsafe } from 'typebox'

/** A schema with a name, under which the OpenAPI document lists it. */
export function named<Schema extends TSchema>(name: string, schema: Schema): Schema & { $id: string } {
  return Object.assign(schema, { $id: name })
}

/** Refers to a named schema instead of repeating it. */
export function ref<Schema extends TSchema & { $id: string }>(schema: Schema, description?: string) {
  const reference = Type.Unsafe<Static<Schema>>({ $ref: `${schema.$id}#` })
  return description === undefined ? reference : described(reference, description)
}

/** Refers to a named schema, or null. */
export function refOrNull<Schema extends TSchema & { $id: string }>(schema: Schema, description?: string) {
  const anyOf = [{ $ref: `${schema.$id}#` }, { type: 'null' }]
  return Type.Unsafe<Static<Schema> | null>({ anyOf, ...(description !== undefined && { description }) })
}

/** The same schema with a description, which the OpenAPI document requires of every field. */
export function described<Schema extends TSchema>(schema: Schema, description: string): Schema {
  // The generator of the document drops what stands next to a reference; openapi-document.ts puts it back.
  if ('$ref' in schema) return { allOf: [schema], description } as unknown as Schema
  // Not by a spread, which would lose what TypeBox stores in properties that are not enumerable.
  const properties = Object.getOwnPropertyDescriptors(schema) as PropertyDescriptorMap
  properties.description = { value: description, enumerable: true, configurable: true, writable: true }
  return Object.defineProperties({}, properties) as Schema
}

/** What is most often said of a field is its description alone. */
type Options<Rules = object> = string | Rules
function optionsOf<Rules>(options: Options<Rules>) {
  return typeof options === 'string' ? { description: options } : options
}

export const Text = (options: Options<TStringOptions> = {}) => Type.String(optionsOf(options))
export const Flag = (options: Options<TSchemaOptions> = {}) => Type.Boolean(optionsOf(options))
export const Integer = (options: Options<TNumberOptions> = {}) => Type.Integer(optionsOf(options))
export const Count = (description: string) => Type.Integer({ minimum: 0, description })
export const Anything = (options: Options<TSchemaOptions> = {}) => Type.Unknown(optionsOf(options))
export function List<Item extends TSchema>(items: Item, options: Options<TArrayOptions> = {}) {
  return Type.Array(items, optionsOf(options))
}

export const TextOrNull = (options: Options = {}) =>
  Type.Unsafe<string | null>({ type: ['string', 'null'], ...optionsOf(options) })
export const IntegerOrNull = (options: Options = {}) =>
  Type.Unsafe<number | null>({ type: ['integer', 'null'], ...optionsOf(options) })

export const Id = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })
export const IdOrNull = IntegerOrNull({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })
export const Uuid = Type.String({ format: 'uuid' })
export const UuidOrNull = TextOrNull({ format: 'uuid' })
export const Timestamp = Type.String({ format: 'date-time' })
export const TimestampOrNull = TextOrNull({ format: 'date-time' })
export const Time = (description: string) => described(Timestamp, description)
export const TimeOrNull = (description: string) => described(TimestampOrNull, description)
export const timestamps = {
  created_at: Time('When it was created.'),
  updated_at: Time('When it last changed.'),
}

export const idOf = (what: string) => described(Id, `The id of the ${what}.`)
/** `otherwise` says what null means: `null without one`. */
export const idOrNullOf = (what: string, otherwise: string) =>
  described(IdOrNull, `The id of the ${what}; ${otherwise}.`)
/** The words for a field whose value is a code. */
export const humanReadable = (field: string) => Text(`\`${field}\` in words, for display.`)

/** One of a fixed set of values. */
export function Word<const Words extends readonly string[]>(words: Words, options: Options = {}) {
  return Type.Unsafe<Words[number]>({ type: 'string', enum: [...words], ...optionsOf(options) })
}

/**
 * A display name. It appears within lines of text, next to other names and to other users, so it must have a visible
 * character, must not break the line, and must not change the direction of the text that follows.
 */
export function Name(maxLength = 255, description = 'The name, for display.') {
  return Type.String({
    minLength: 1,
    maxLength,
    description,
    // Each character can match at one position only: no backtracking on long input.
    pattern: `^[^${VISIBLE}${DISRUPTIVE}]*[${VISIBLE}][^${DISRUPTIVE}]*$`,
    'x-portable-pattern': '^ *[^\\x00-\\x20\\x7f-\\x9f][^\\x00-\\x1f\\x7f-\\x9f]*$',
    'x-hint': 'must not be blank, or contain line breaks or control characters',
  })
}

const VISIBLE = '\\p{L}\\p{N}\\p{P}\\p{S}'
const DISRUPTIVE = '\\p{Cc}\\p{Cs}\\p{Zl}\\p{Zp}\\u202A-\\u202E\\u2066-\\u2069'

/** The fields that the schema names, in its order: a row may hold more, which must not be shown. */
export function pickFields<Schema extends TSchema & { properties: object }>(
  schema: Schema,
  values: Static<Schema>,
): Static<Schema> {
  const fields = Object.keys(schema.properties) as (keyof Static<Schema>)[]
  return Object.fromEntries(fields.map((field) => [field, values[field]])) as Static<Schema>
}

/** An object with any fields. */
export const AnyObject = (options: Options = {}) =>
  Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: true, ...optionsOf(options) })
export const AnyObjectOrNull = (options: Options = {}) =>
  Type.Unsafe<Record<string, unknown> | null>({ ...AnyObject(options), type: ['object', 'null'] })

/** Fields that may be left out. */
export function optionalFields<Fields extends Record<string, TSchema>>(fields: Fields) {
  const entries = Object.entries(fields).map(([name, schema]) => [name, Type.Optional(schema)])
  return Object.fromEntries(entries) as { [name in keyof Fields]: TOptional<Fields[name]> }
}

/** An object with exactly the given fields, so that a misspelled field is rejected. */
export function Exactly<Fields extends Record<string, TSchema>>(fields: Fields, options: object = {}) {
  return Type.Object(fields, { additionalProperties: false, ...options })
}

/** The same inside of another object. */
export function Part<Fields extends Record<string, TSchema>>(description: string, fields: Fields) {
  return Exactly(fields, { description })
}

/** A named object with exactly these fields. */
export function namedObject<Fields extends Record<string, TSchema>>(name: string, fields: Fields) {
  return named(name, Exactly(fields))
}

/** The body of routes that need none but accept one. */
export const emptyBody = Exactly({}, { title: 'EmptyRequest', description: 'No fields.' })

/** The query of routes that remove a resource together with what depends on it. */
export const cascadeQuery = Exactly({
  cascade: Type.Optional(
    Type.Boolean({ default: false, description: 'Whether to remove what depends on it as well.' }),
  ),
})

export const errorSchema = named(
  'Error',
  Exactly({
    message: Text('What went wrong, and what to do about it.'),
    errors: Type.Unsafe<Record<string, string[]> | null>({
      type: ['object', 'null'],
      description: 'Errors by dotted field path.',
      additionalProperties: { type: 'array', items: { type: 'string' } },
    }),
    code: Text('Machine-readable error code; docs/errors.md lists all of them.'),
    request_id: Text('Also in the header X-Request-Id and in the log.'),
  }),
)

/** The errors of a route in addition to those that any route may return; openapi-common.ts describes each. */
export function errorResponses(...statuses: number[]) {
  return Object.fromEntries(statuses.map((status) => [status, ref(errorSchema)]))
}

/** A response with headers; those that the OpenAPI document shares (openapi-common.ts) need no schema. */
export function withHeaders<Schema extends TSchema>(schema: Schema, headers: Record<string, object>): Schema {
  return { ...schema, headers }
}
