import {
  nameOf,
  type Operation,
  type Parameter,
  type Reference,
  type Schema,
  withoutNull,
} from './document.ts'

// Code that makes a call: for a shell, and for the client of this repository. Pure.

const EVENT_STREAM = 'text/event-stream'

/** Streams have methods of their own in the client, which resume after a lost connection. */
const FOLLOWED: Record<string, string> = {
  '/actions/stream': 'followActions',
  '/actions/{id}/stream': 'followAction',
  '/hooks/outgoing/{hook_id}/stream': 'followDeliveries',
}

type Place = Pick<Reference, 'url' | 'schemas'>

/** What the samples send as the body, as text; undefined when they send none. */
export function sampleBody(operation: Operation, schemas: Place['schemas']): unknown {
  const { body } = operation
  if (!body) return undefined
  const value = body.example ?? sampleValue(body.schema, schemas)
  const isEmpty = typeof value === 'object' && value !== null && Object.keys(value).length === 0
  return isEmpty && !body.required ? undefined : value
}

export function curlSample(operation: Operation, { url, schemas }: Place): string {
  const accept = acceptOf(operation)
  const body = sampleBody(operation, schemas)
  const method = operation.method === 'GET' ? '' : `-X ${operation.method} `
  const lines = [
    `curl ${accept === EVENT_STREAM ? '-N ' : ''}${method}${word(url + pathOf(operation, schemas))}`,
  ]
  if (!operation.isPublic) lines.push('-H "Authorization: Bearer $GANTRY_TOKEN"')
  if (accept === EVENT_STREAM) lines.push(`-H 'Accept: ${accept}'`)
  if (body !== undefined) {
    lines.push(`-H 'Content-Type: ${operation.body!.type}'`)
    lines.push(`-d ${quote(typeof body === 'string' ? body : JSON.stringify(body, null, 2))}`)
  }
  return lines.join(' \\\n  ')
}

export function typescriptSample(operation: Operation, { url, schemas }: Place): string {
  const token = operation.isPublic ? '' : '  token: process.env.GANTRY_TOKEN,\n'
  return `import { createGantry } from '@gantry/client'

const gantry = createGantry({
  url: ${typescriptLiteral(url)},
${token}})
${callOf(operation, schemas)}`
}

function callOf(operation: Operation, schemas: Place['schemas']): string {
  const followed = FOLLOWED[operation.path]
  if (followed !== undefined) {
    const values = operation.parameters
      .filter((one) => one.in === 'path')
      .map((one) => sampleParameter(one, schemas))
    return `for await (const event of gantry.${followed}(${values.map((one) => typescriptLiteral(one)).join(', ')})) console.log(event)`
  }
  const method = operation.method.toLowerCase()
  const path = typescriptLiteral(operation.path)
  const init = initOf(operation, schemas)
  const args = init === undefined ? path : `${path}, ${init}`
  const name = resultName(operation)
  if (operation.method === 'GET' && isPaged(operation)) {
    return `for await (const ${name} of gantry.list(${args})) console.log(${name})`
  }
  const result = name === undefined ? '' : `const ${name} = `
  return `${result}await gantry.${method}(${args})`
}

/** What a call of the client takes besides its path, one part per line. */
function initOf(operation: Operation, schemas: Place['schemas']): string | undefined {
  const of = (location: string) => {
    const needed = operation.parameters.filter((one) => one.in === location && one.required)
    if (needed.length === 0) return undefined
    return Object.fromEntries(needed.map((one) => [one.name, sampleParameter(one, schemas)]))
  }
  const params = { path: of('path'), query: of('query'), header: of('header') }
  const hasParams = Object.values(params).some((group) => group !== undefined)
  const parts = { params: hasParams ? params : undefined, body: sampleBody(operation, schemas) }
  const lines = Object.entries(parts)
    .filter(([, part]) => part !== undefined)
    .map(([name, part]) => `  ${name}: ${typescriptLiteral(part, '  ')},\n`)
  return lines.length > 0 ? `{\n${lines.join('')}}` : undefined
}

/** Of the success: `action` for an Action, nothing without a body. */
function resultName(operation: Operation): string | undefined {
  const content = successOf(operation)?.content
  if (!content) return undefined
  const { schema } = withoutNull(content.schema)
  const name = nameOf(schema.items ?? schema)
  if (name === undefined) return isPaged(operation) ? 'item' : 'result'
  return name[0]!.toLowerCase() + name.slice(1)
}

function successOf({ answers }: Operation) {
  return answers.find(({ status }) => status.startsWith('2'))
}

/** Lists that come in pages, which the client turns into one. */
function isPaged(operation: Operation): boolean {
  const schema = successOf(operation)?.content?.schema
  return schema?.type === 'array' && operation.parameters.some(({ name }) => name === 'page')
}

/** The type of the success when it is not JSON. */
export function acceptOf(operation: Operation): string | undefined {
  const type = successOf(operation)?.content?.type
  return type === undefined || type === 'application/json' ? undefined : type
}

function pathOf({ path, parameters }: Operation, schemas: ReadonlyMap<string, Schema>): string {
  const sample = (name: string, location: string) => {
    const parameter = parameters.find((one) => one.name === name && one.in === location)
    return encodeURIComponent(parameter ? sampleParameter(parameter, schemas) : name)
  }
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => sample(name, 'path'))
  const query = parameters
    .filter((one) => one.in === 'query' && one.required)
    .map(({ name }) => `${encodeURIComponent(name)}=${sample(name, 'query')}`)
  return query.length > 0 ? `${filled}?${query.join('&')}` : filled
}

/** As a shell reads it: bare where it can be. */
function word(text: string): string {
  return /^[\w./:%@-]+$/.test(text) ? text : quote(text)
}

function quote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}

const WIDTH = 60

/** A JSON value as a TypeScript expression, on one line where it fits. Undefined fields are left out. */
export function typescriptLiteral(value: unknown, indent = ''): string {
  if (typeof value === 'string') return stringLiteral(value)
  if (value === null || typeof value !== 'object') return String(value)
  const isArray = Array.isArray(value)
  const [start, end] = isArray ? ['[', ']'] : ['{', '}']
  const inner = `${indent}  `
  const parts = isArray
    ? value.map((one) => typescriptLiteral(one, inner))
    : Object.entries(value)
        .filter(([, one]) => one !== undefined)
        .map(([key, one]) => `${keyLiteral(key)}: ${typescriptLiteral(one, inner)}`)
  if (parts.length === 0) return start + end
  const space = isArray ? '' : ' '
  const short = `${start}${space}${parts.join(', ')}${space}${end}`
  if (indent.length + short.length <= WIDTH && !short.includes('\n')) return short
  return `${start}\n${parts.map((part) => `${inner}${part},\n`).join('')}${indent}${end}`
}

function keyLiteral(key: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(key) ? key : stringLiteral(key)
}

/** In single quotes, unless that takes escapes that double quotes do not. */
function stringLiteral(text: string): string {
  const json = JSON.stringify(text)
  if (text.includes("'")) return json
  return `'${json.slice(1, -1).replaceAll('\\"', '"')}'`
}

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
function sampleParameter(
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
