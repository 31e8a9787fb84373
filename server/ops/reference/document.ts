// The reference room: /docs, a page for people made from the OpenAPI document. The server renders all of it; the
// scripts in browser/ add search, copying and trying calls. This file reads the document into what the page shows.

export type Schema = {
  $ref?: string
  type?: string | string[]
  enum?: unknown[]
  const?: unknown
  anyOf?: Schema[]
  oneOf?: Schema[]
  allOf?: Schema[]
  items?: Schema
  properties?: Record<string, Schema>
  required?: string[]
  additionalProperties?: boolean | Schema
  description?: string
  default?: unknown
  example?: unknown
  examples?: unknown[]
  format?: string
  pattern?: string
  /** The pattern in words. */
  'x-hint'?: string
  uniqueItems?: boolean
  deprecated?: boolean
} & Partial<Record<`${'min' | 'max'}${'imum' | 'Length' | 'Items' | 'Properties'}`, number>>

export type Reference = ReturnType<typeof readDocument>
export type Operation = ReturnType<typeof readOperation>
export type Parameter = ReturnType<typeof readParameter>
export type Answer = Operation['answers'][number]
export type Content = NonNullable<ReturnType<typeof readContent>>

/** What may be a reference to a component. */
type Referable = { $ref?: string; description?: string }
type Media = { schema?: Schema; example?: unknown; examples?: Record<string, { value?: unknown }> }
type RawContent = Referable & { required?: boolean; content?: Record<string, Media> }
type RawResponse = RawContent & { headers?: Record<string, Referable> }
type RawParameter = Referable & Media & { name?: string; in?: string; required?: boolean }
type RawOperation = {
  tags?: string[]
  operationId?: string
  summary?: string
  description?: string
  deprecated?: boolean
  security?: unknown[]
  parameters?: RawParameter[]
  requestBody?: RawContent
  responses?: Record<string, RawResponse>
}
type OpenApi = {
  info: { title: string; version: string; summary?: string; description?: string }
  servers?: { url: string }[]
  tags?: { name: string; description?: string }[]
  paths?: Record<string, Record<string, unknown>>
  components?: { schemas?: Record<string, Schema> }
}

const METHODS = ['get', 'post', 'put', 'patch', 'delete']

export function readDocument(source: unknown) {
  const document = source as OpenApi
  const follow = <Value extends Referable>(value: Value) => followPointer(document, value) as Value
  const operations = Object.entries(document.paths ?? {}).flatMap(([path, item]) =>
    METHODS.filter((method) => method in item).map((method) => {
      const raw = item[method] as RawOperation
      const shared = (item.parameters ?? []) as RawParameter[]
      return { tag: raw.tags?.[0], operation: readOperation(path, method, raw, shared, follow) }
    }),
  )
  const schemas = new Map(
    Object.entries(document.components?.schemas ?? {}).sort(([one], [other]) => one.localeCompare(other)),
  )
  const all = operations.map(({ operation }) => operation)
  return {
    title: document.info.title,
    version: document.info.version,
    summary: document.info.summary ?? '',
    description: document.info.description ?? '',
    /** Where the service is reached. */
    url: (document.servers?.[0]?.url ?? '').replace(/\/$/, ''),
    tags: (document.tags ?? []).map(({ name, description = '' }) => ({
      name,
      description,
      operations: operations.filter(({ tag }) => tag === name).map(({ operation }) => operation),
    })),
    schemas,
    /** Names of schemas that are shown where they are used, and not in a section of their own. */
    inlined: bodySchemas(all, schemas),
    /** What an error means where an operation says nothing else, by status. */
    errors: commonErrors(all.flatMap(({ answers }) => answers)),
  }
}

export function isError({ status }: Answer): boolean {
  return /^[45]/.test(status)
}

function commonErrors(answers: Answer[]): Map<string, string> {
  const errors = answers.filter(isError).sort((one, other) => one.status.localeCompare(other.status))
  const byStatus = Map.groupBy(errors, ({ status }) => status)
  return new Map(
    [...byStatus].map(([status, all]) => {
      const counted = [...Map.groupBy(all, ({ description }) => description)]
      const [most] = counted.sort(([, one], [, other]) => other.length - one.length)
      return [status, most![0]]
    }),
  )
}

function readOperation(
  path: string,
  method: string,
  raw: RawOperation,
  shared: RawParameter[],
  follow: <Value extends Referable>(value: Value) => Value,
) {
  const body = raw.requestBody && follow(raw.requestBody)
  const content = body && readContent(body)
  return {
    id: raw.operationId ?? `${method}${path.replaceAll(/\W+/g, '-')}`,
    method: method.toUpperCase(),
    path,
    summary: raw.summary ?? '',
    description: raw.description ?? '',
    isPublic: raw.security?.length === 0,
    isDeprecated: raw.deprecated === true,
    parameters: [...shared, ...(raw.parameters ?? [])].map((one) => readParameter(follow(one))),
    body: content && { ...content, required: body.required === true, description: body.description ?? '' },
    answers: Object.entries(raw.responses ?? {}).map(([status, one]) => {
      const response = follow(one)
      return {
        status,
        description: response.description ?? '',
        content: readContent(response),
        headers: Object.entries(response.headers ?? {}).map(([name, header]) => ({
          name,
          description: follow(header).description ?? '',
        })),
      }
    }),
  }
}

function readParameter(raw: RawParameter) {
  return {
    name: raw.name ?? '',
    in: raw.in ?? 'query',
    required: raw.required === true,
    description: raw.description ?? raw.schema?.description,
    schema: raw.schema ?? {},
    example: exampleOf(raw),
  }
}

/** JSON when there is a choice. `example` is undefined when the document has none. */
function readContent({ content = {} }: RawContent) {
  const [type, media] =
    Object.entries(content).find(([one]) => one === 'application/json') ?? Object.entries(content)[0] ?? []
  if (type === undefined || media === undefined) return undefined
  return { type, schema: media.schema ?? {}, example: exampleOf(media) }
}

function exampleOf({ example, examples, schema }: Media): unknown {
  return example ?? Object.values(examples ?? {})[0]?.value ?? schema?.example ?? (schema?.examples ?? [])[0]
}

/** Components that are referenced, such as shared responses. Unknown references are left as they are. */
function followPointer(document: object, value: { $ref?: string }): unknown {
  if (!value.$ref?.startsWith('#/')) return value
  const found = value.$ref
    .slice(2)
    .split('/')
    .reduce<unknown>((inside, key) => (inside as Record<string, unknown> | undefined)?.[key], document)
  return found ?? value
}

/** The name of a referenced schema. */
export function nameOf(schema: Schema): string | undefined {
  return schema.$ref?.split('/').at(-1)
}

/** What a schema stands for, and whether null is allowed as well. Follows one reference. */
export function withoutNull(schema: Schema): { schema: Schema; nullable: boolean } {
  const members = schema.anyOf ?? schema.oneOf
  if (members) {
    const others = members.filter(({ type }) => type !== 'null')
    const nullable = others.length < members.length
    const [only] = others
    if (only && others.length === 1)
      return { schema: { ...only, description: schema.description ?? only.description }, nullable }
    return { schema: { ...schema, anyOf: others, oneOf: undefined }, nullable }
  }
  if (!Array.isArray(schema.type)) return { schema, nullable: schema.type === 'null' }
  const types = schema.type.filter((type) => type !== 'null')
  const type = types.length === 1 ? types[0] : types
  return { schema: { ...schema, type }, nullable: types.length < schema.type.length }
}

/** The names of the schemas that requests consist of, those inside of others included. */
export function requestSchemas({ tags, schemas }: Pick<Reference, 'tags' | 'schemas'>): Set<string> {
  const names = new Set<string>()
  const add = (schema: Schema | undefined) => {
    for (const name of namesIn(schema)) {
      if (names.has(name)) continue
      names.add(name)
      add(schemas.get(name))
    }
  }
  for (const { body } of tags.flatMap((tag) => tag.operations)) add(body?.schema)
  return names
}

/** Bodies of a single call, which are described there and not a second time. */
function bodySchemas(operations: Operation[], schemas: ReadonlyMap<string, Schema>): Set<string> {
  const used = [...schemas.values(), ...operations.map(({ body, answers }) => [body, answers])].flatMap(
    namesIn,
  )
  const bodies = operations.flatMap(({ body }) => (body ? (nameOf(body.schema) ?? []) : []))
  return new Set(bodies.filter((name) => used.filter((one) => one === name).length === 1))
}

/** The names of the schemas that are referenced directly. */
function namesIn(value: unknown): string[] {
  const references = JSON.stringify(value ?? null).matchAll(/"#\/components\/schemas\/([^"]+)"/g)
  return [...references].map(([, name]) => name!)
}
