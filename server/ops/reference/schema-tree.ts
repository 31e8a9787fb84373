import { nameOf, type Schema, withoutNull } from './document.ts'
import { html, paragraphs, prose } from './html.ts'

type Schemas = ReadonlyMap<string, Schema>

/** Requests name the fields that they need, responses those that they may lack. */
export type Direction = 'request' | 'response'

/** The fields of a schema as a tree; what it is instead, when it has none. */
export function renderFields(schema: Schema, schemas: Schemas, direction: Direction): string {
  const target = targetOf(schema, schemas)
  const fields = Object.entries(target.properties ?? {})
  if (fields.length === 0) return renderVariants(target, schemas, direction) ?? renderValue(target)
  const items = fields.map(([name, field]) => {
    const required = target.required?.includes(name) ?? false
    return renderField({ name, schema: field, required }, schemas, direction)
  })
  return `<ul class="fields">${items.join('')}${renderOthers(target)}</ul>`
}

type Field = {
  name: string
  schema: Schema
  required: boolean
  description?: string
  /** Attributes that scripts read. */
  data?: string
}

/** One field or parameter: its name, type, limits and description, and what is inside of it. */
export function renderField(
  { name, schema, required, description, data = '' }: Field,
  schemas: Schemas,
  direction: Direction,
): string {
  const { nullable } = withoutNull(schema)
  const text = description ?? schema.description ?? ''
  const marks = [
    required && direction === 'request' ? '<b class="required">required</b>' : '',
    !required && direction === 'response' ? '<span class="mark">optional</span>' : '',
    nullable ? '<span class="mark">nullable</span>' : '',
    schema.deprecated ? '<span class="mark">deprecated</span>' : '',
    ...limitsOf(schema).map((limit) => `<span class="mark">${limit}</span>`),
  ]
  return `<li${data}><div class="field"><code>${html(name)}</code> <span class="type">${typeOf(schema)}</span> ${marks.filter(Boolean).join(' ')}</div>${paragraphs(text)}${valuesOf(schema)}${renderNested(schema, schemas, direction)}</li>`
}

/** The type in words, with links to named schemas. */
export function typeOf(schema: Schema): string {
  const name = nameOf(schema)
  if (name !== undefined) return `<a href="#schema-${html(name)}">${html(name)}</a>`
  const { schema: inner, nullable } = withoutNull(schema)
  if (nullable && inner.type === 'null') return 'null'
  if (inner !== schema && inner.$ref) return typeOf(inner)
  if (inner.anyOf) return inner.anyOf.map(typeOf).join(' or ')
  if (inner.allOf) return inner.allOf.map(typeOf).join(' and ')
  if (Array.isArray(inner.type)) return inner.type.map((type) => typeOf({ ...inner, type })).join(' or ')
  if (inner.type === 'array') return `array of ${typeOf(inner.items ?? {})}`
  if (isMap(inner)) return `map of ${typeOf(inner.additionalProperties as Schema)}`
  if (inner.const !== undefined) return `<code>${html(JSON.stringify(inner.const))}</code>`
  const type = inner.type ?? (inner.enum ? typeof inner.enum[0] : 'any value')
  return html(inner.format ? `${type} (${inner.format})` : type)
}

/** Fields of objects unfold in place; those of named schemas are copied from their own section by a script. */
function renderNested(schema: Schema, schemas: Schemas, direction: Direction): string {
  const { schema: inner } = withoutNull(schema)
  const name = nameOf(inner)
  if (name !== undefined) {
    const isTree = hasFields(schemas.get(name))
    return isTree ? renderReference(name) : ''
  }
  if (inner.items) return renderNested(inner.items, schemas, direction)
  if (isMap(inner)) return renderNested(inner.additionalProperties as Schema, schemas, direction)
  if (inner.properties && hasFields(inner))
    return `<details><summary>Fields</summary>${renderFields(inner, schemas, direction)}</details>`
  return inner.anyOf?.map((one) => renderNested(one, schemas, direction)).join('') ?? ''
}

export function renderReference(name: string): string {
  return `<details data-schema="${html(name)}"><summary>Fields of ${html(name)}</summary><p>See <a href="#schema-${html(name)}">${html(name)}</a>.</p></details>`
}

export function hasFields(schema: Schema | undefined): boolean {
  return (
    Object.keys(schema?.properties ?? {}).length > 0 ||
    (schema?.anyOf ?? schema?.oneOf ?? []).some((one) => nameOf(one) !== undefined || hasFields(one))
  )
}

/** A schema that is one of several. */
function renderVariants(schema: Schema, schemas: Schemas, direction: Direction): string | undefined {
  const { schema: inner } = withoutNull(schema)
  const members = inner.anyOf ?? inner.allOf
  if (!members) return undefined
  const items = members.map(
    (one) => `<li><span class="type">${typeOf(one)}</span>${renderNested(one, schemas, direction)}</li>`,
  )
  return `<p>${inner.anyOf ? 'One of' : 'All of'}:</p><ul class="fields">${items.join('')}</ul>`
}

function renderValue(schema: Schema): string {
  const marks = limitsOf(schema).map((limit) => `<span class="mark">${limit}</span>`)
  return `<p><span class="type">${typeOf(schema)}</span> ${marks.join(' ')}</p>${valuesOf(schema)}`
}

/** Objects that take fields of any name besides the described ones. */
function renderOthers({ additionalProperties }: Schema): string {
  if (!additionalProperties) return ''
  const type = additionalProperties === true ? 'any value' : typeOf(additionalProperties)
  return `<li><div class="field"><i>any other name</i> <span class="type">${type}</span></div></li>`
}

/** The values or the form that it may have. */
function valuesOf(schema: Schema): string {
  const { schema: inner } = withoutNull(schema)
  if (inner['x-hint']) return `<p class="values">${prose(sentence(inner['x-hint']))}</p>`
  if (inner.pattern) return `<p class="values">Matches <code>${html(inner.pattern)}</code></p>`
  const values = (inner.enum ?? inner.items?.enum ?? []).filter((value) => value !== null)
  if (values.length === 0) return ''
  return `<p class="values">One of ${values.map((value) => `<code>${html(String(value))}</code>`).join(' ')}</p>`
}

function limitsOf(schema: Schema): string[] {
  const { schema: inner } = withoutNull(schema)
  const range = (low: number | undefined, high: number | undefined, unit: string) => {
    if (low === undefined && high === undefined) return []
    if (low === undefined) return [`at most ${high}${unit}`]
    return [high === undefined ? `at least ${low}${unit}` : `${low}–${high}${unit}`]
  }
  // From 1 to 2^53 − 1: as every id.
  const isId = inner.minimum === 1 && inner.maximum === Number.MAX_SAFE_INTEGER
  return [
    ...(isId ? [] : range(inner.minimum, inner.maximum, '')),
    ...range(inner.minLength, inner.maxLength, ' characters'),
    ...range(inner.minItems, inner.maxItems, ' items'),
    ...range(inner.minProperties, inner.maxProperties, ' fields'),
    ...(inner.uniqueItems ? ['unique'] : []),
    ...(inner.default === undefined ? [] : [`default <code>${html(JSON.stringify(inner.default))}</code>`]),
  ]
}

/** Hints are written to follow the name of a field. */
function sentence(text: string): string {
  return `${text[0]!.toUpperCase()}${text.slice(1)}`
}

function isMap({ properties, additionalProperties }: Schema): boolean {
  return (
    !properties && typeof additionalProperties === 'object' && Object.keys(additionalProperties).length > 0
  )
}

function targetOf(schema: Schema, schemas: Schemas): Schema {
  const name = nameOf(schema)
  return (name !== undefined && schemas.get(name)) || schema
}
