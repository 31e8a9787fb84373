import { hookSchemas } from '#model/hooks/schemas.ts'
import { documentSchema } from './schemas.ts'

type Json = null | boolean | number | string | Json[] | { [key: string]: Json }

/** The schema that documents are validated with, in a form that editors understand. */
export function createEditorSchema(): { [key: string]: Json } {
  const { hooks, document } = JSON.parse(JSON.stringify({ hooks: hookSchemas, document: documentSchema }))
  const definitions = hooks.map((schema: { $id: string }) => [schema.$id, convert(schema)])
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'gantry.yaml',
    ...(convert(document) as object),
    $defs: Object.fromEntries(definitions),
  }
}

const PLACEHOLDER = { type: 'string', pattern: '\\$\\{[A-Za-z_]' }

/** References point into the schema itself, and `${NAME}` is allowed wherever a string has a format. */
function convert(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(convert)
  if (schema === null || typeof schema !== 'object') return schema
  if (typeof schema.$ref === 'string') return { $ref: `#/$defs/${schema.$ref.replace(/#$/, '')}` }
  const { $id: _, 'x-hint': hint, 'x-portable-pattern': portable, ...rest } = schema
  if (portable !== undefined) rest.pattern = portable
  const entries = Object.entries(rest).map(([key, value]) => [
    key,
    VERBATIM.includes(key) ? value : convert(value),
  ])
  const copied: { [key: string]: Json } = Object.fromEntries(entries)
  const hasFormat =
    copied.pattern !== undefined || copied.format !== undefined || Number(copied.minLength ?? 0) > 1
  return [copied.type].flat().includes('string') && hasFormat && hint !== undefined
    ? { description: copied.description ?? hint, anyOf: [copied, PLACEHOLDER] }
    : copied
}

/** They contain no schemas. `propertyNames` are names, which are never filled in. */
const VERBATIM = ['enum', 'default', 'examples', 'required', 'type', 'propertyNames']
