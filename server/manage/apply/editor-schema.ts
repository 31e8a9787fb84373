import type { TSchema } from 'typebox'
import { hookSchemas } from '#model/hooks/schemas.ts'
import { documentSchema } from './schemas.ts'

type Json = null | boolean | number | string | Json[] | { [key: string]: Json }

/** For editors that help with writing a `gantry.yaml`: what is checked when it is applied. */
export function createEditorSchema(): { [key: string]: Json } {
  const definitions = Object.fromEntries(hookSchemas.map((schema) => [schema.$id, forEditors(plain(schema))]))
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'gantry.yaml',
    ...(forEditors(plain(documentSchema)) as object),
    $defs: definitions,
  }
}

function plain(schema: TSchema): Json {
  return JSON.parse(JSON.stringify(schema))
}

const FILLED_LATER = { type: 'string', pattern: '\\$\\{[A-Za-z_]' }

/** References point into the document itself, and `${NAME}` may stand wherever a text has a form. */
function forEditors(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(forEditors)
  if (schema === null || typeof schema !== 'object') return schema
  if (typeof schema.$ref === 'string') return { $ref: `#/$defs/${schema.$ref.replace(/#$/, '')}` }
  const { $id: _, 'x-hint': hint, ...rest } = schema
  const entries = Object.entries(rest).map(([key, value]) => [
    key,
    KEPT.includes(key) ? value : forEditors(value),
  ])
  const copied: { [key: string]: Json } = Object.fromEntries(entries)
  const hasForm =
    copied.pattern !== undefined || copied.format !== undefined || Number(copied.minLength ?? 0) > 1
  return [copied.type].flat().includes('string') && hasForm && hint !== undefined
    ? { description: copied.description ?? hint, anyOf: [copied, FILLED_LATER] }
    : copied
}

/** Values, in which nothing is a schema. `propertyNames` are names, which are never filled in. */
const KEPT = ['enum', 'default', 'examples', 'required', 'type', 'propertyNames']
