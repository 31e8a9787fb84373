// What the OpenAPI document shows instead of what Ajv validates with: schemas that mean the same to the validators and
// generators of other languages. They accept all that validation accepts, and sometimes more.

// biome-ignore lint/suspicious/noExplicitAny: JSON Schema has too many forms to type each of them
type Schema = Record<string, any>

/** Keywords that say something about one type only. All others hold for every type, or only describe. */
const KEYWORDS_OF: Record<string, readonly string[]> = {
  integer: ['minimum', 'maximum'],
  string: ['minLength', 'maxLength', 'pattern', 'format'],
  array: ['items', 'minItems', 'maxItems', 'uniqueItems'],
  object: ['properties', 'required', 'additionalProperties', 'propertyNames', 'maxProperties'],
  boolean: [],
  null: [],
}
const TYPED = new Set(Object.values(KEYWORDS_OF).flat())

/** They hold values, not schemas. */
const VALUES = new Set(['example', 'examples', 'default', 'enum', 'const', 'required', 'type'])
/** The keys of these are names, not keywords. */
const MAPS = new Set(['properties', 'schemas', 'parameters', 'responses', 'headers', 'paths', 'content'])

/** A copy of a part of the document in which every schema is portable. */
export function makePortable<Part>(part: Part): Part {
  return convert(part, false) as Part
}

function convert(part: unknown, isMap: boolean): unknown {
  if (Array.isArray(part)) return part.map((one) => convert(one, false))
  if (typeof part !== 'object' || part === null) return part
  const entries = Object.entries(part).map(([key, value]) => {
    if (!isMap && VALUES.has(key)) return [key, value]
    return [key, convert(value, !isMap && MAPS.has(key))]
  })
  const copy = Object.fromEntries(entries)
  return isMap ? copy : splitTypes(loosenPattern(copy))
}

/** Property escapes and lookaround exist in few languages: a schema whose pattern has them brings another one. */
function loosenPattern({ 'x-portable-pattern': portable, ...schema }: Schema): Schema {
  return portable === undefined ? schema : { ...schema, pattern: portable }
}

/** Several types become one schema for each: generators take the first of a list, or mix up their keywords. */
function splitTypes(schema: Schema): Schema {
  if (!Array.isArray(schema.type)) return schema
  if (schema.type.filter((type) => type !== 'null').length < 2) return schema
  const { type: types, ...keywords } = schema
  const pick = (belongs: (keyword: string) => boolean) =>
    Object.fromEntries(Object.entries(keywords).filter(([keyword]) => belongs(keyword)))
  const anyOf = types.map((type: string) => ({
    type,
    ...pick((keyword) => KEYWORDS_OF[type]!.includes(keyword)),
  }))
  return { anyOf, ...pick((keyword) => !TYPED.has(keyword)) }
}
