import { nameOf, type Parameter, type Schema, withoutNull } from './document.ts'

const MAX_DEPTH = 6
const FORMATS: Record<string, string> = {
  uuid: '0198c5a4-3f6e-7b21-9d0c-5a1e8f4b7c32',
  'date-time': '2026-11-16T09:30:00.000Z',
  date: '2026-11-16',
  email: 'ada@example.com',
  uri: 'https://example.com/',
}

/** A value that fits the schema: its example where it has one, else the required fields only. Pure. */
export function sampleValue(schema: Schema, schemas: ReadonlyMap<string, Schema>, depth = 0): unknown {
  const name = nameOf(schema)
  if (name !== undefined) {
    const target = schemas.get(name)
    return target === undefined || depth > MAX_DEPTH ? null : sampleValue(target, schemas, depth + 1)
  }
  const given = schema.example ?? schema.examples?.[0] ?? schema.const ?? schema.default
  if (given !== undefined && given !== null) return given
  if (schema.enum) return schema.enum.find((one) => one !== null) ?? null
  const { schema: inner, nullable } = withoutNull(schema)
  const first = (inner.anyOf ?? inner.allOf)?.[0]
  if (first) return sampleValue(first, schemas, depth + 1)
  if (inner !== schema && inner.$ref !== undefined) return sampleValue(inner, schemas, depth + 1)
  const type = [inner.type].flat()[0]
  if (type === 'object' || inner.properties) return sampleObject(inner, schemas, depth)
  if (type === 'array') {
    const isEmpty = depth > MAX_DEPTH || !inner.items || (inner.minItems ?? 0) === 0
    return isEmpty ? [] : [sampleValue(inner.items!, schemas, depth + 1)]
  }
  return type === undefined && nullable ? null : sampleScalar(type, inner)
}

/** For a parameter in a URL. */
export function sampleParameter(
  parameter: Parameter,
  schemas: ReadonlyMap<string, Schema>,
): string | number | boolean {
  const value = parameter.example ?? sampleValue(parameter.schema, schemas)
  if (value === 'string') return parameter.name.toUpperCase()
  return typeof value === 'number' || typeof value === 'boolean' ? value : String(value)
}

function sampleObject(schema: Schema, schemas: ReadonlyMap<string, Schema>, depth: number): object {
  if (depth > MAX_DEPTH) return {}
  const required = Object.entries(schema.properties ?? {}).filter(([name]) => schema.required?.includes(name))
  return Object.fromEntries(
    required.map(([name, field]) => {
      const value = sampleValue(field, schemas, depth + 1)
      return [name, value === 'string' ? name.replaceAll('_', ' ') : value]
    }),
  )
}

function sampleScalar(type: string | undefined, { format, minimum, minLength }: Schema): unknown {
  if (type === 'integer' || type === 'number') return minimum ?? 1
  if (type === 'boolean') return true
  if (type === 'string') return FORMATS[format ?? ''] ?? 'string'.padEnd(minLength ?? 0, 'x')
  return null
}
