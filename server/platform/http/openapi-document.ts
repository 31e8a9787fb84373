// What the OpenAPI document says beyond what routes declare: names for their schemas, the errors that any route may
// return, and the headers that are the same everywhere. So a route cannot forget them.
import {
  COMMON_ERRORS,
  COMMON_HEADERS,
  errorsOf,
  IF_MATCH,
  nameOfError,
  PREFER,
  type RouteTraits,
} from './openapi-common.ts'
import { makePortable } from './portable-schemas.ts'

// biome-ignore lint/suspicious/noExplicitAny: JSON Schema has too many forms to type each of them
type Schema = Record<string, any>
type Media = { schema: Schema; example?: unknown; examples?: Record<string, { value: unknown }> }
type Parameter = { in: string; name: string; description?: string }
type Header = { $ref: string } | { schema: Schema }
type Response = { description: string; headers?: Record<string, Header>; content?: Record<string, Media> }
type Operation = {
  operationId: string
  security?: unknown[]
  parameters?: Parameter[]
  requestBody?: { required?: boolean; description?: string; content: Record<string, Media> }
  responses: Record<string, Response | { $ref: string }>
}
export type OpenApiDocument = {
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, Schema> } & Record<string, object>
}

/** The traits of a route, by its method and path: `GET /actions/{id}`. */
export type RouteTraitsOf = (method: string, path: string) => RouteTraits

const SUCCESSES: Record<string, string> = {
  200: 'Success',
  201: 'Created',
  202: 'Accepted; processing continues in the background',
  204: 'Success, without a body',
}

/** Recorded requests and answers, by operation; test/api/examples.test.ts writes them. */
export type Examples = Record<string, { request?: unknown; responses: Record<string, unknown> }>

/** Completes the document in place. Pure otherwise: the same routes give the same document. */
export function completeDocument(document: OpenApiDocument, traitsOf: RouteTraitsOf, examples: Examples) {
  const { schemas } = document.components
  for (const [path, operations] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(operations)) {
      const traits = traitsOf(method.toUpperCase(), path)
      describeIds(operation, path)
      completeRequest(operation, traits, schemas)
      completeSuccesses(operation, traits, schemas)
      addExamples(operation, examples[operation.operationId])
      shareErrors(operation, method.toUpperCase(), path, traits)
    }
  }
  for (const schema of Object.values(schemas)) mergeReferences(schema)
  Object.assign(document.components, { responses: COMMON_ERRORS, headers: COMMON_HEADERS })
  Object.assign(document, makePortable({ paths: document.paths, components: document.components }))
}

/** Ids in a path are described by what they belong to: `/pipelines/{id}` names a pipeline. */
function describeIds({ parameters = [] }: Operation, path: string): void {
  const segments = path.split('/')
  for (const parameter of parameters) {
    if (parameter.in !== 'path' || parameter.description) continue
    const owner = segments[segments.indexOf(`{${parameter.name}}`) - 1]!
    const noun = parameter.name === 'user_id' ? 'user' : singular(owner)
    parameter.description = `The id of the ${noun}.`
  }
}

function singular(segment: string): string {
  if (segment === 'incoming' || segment === 'outgoing') return `${segment} hook`
  return segment.replaceAll('-', ' ').replace(/ies$/, 'y').replace(/s$/, '')
}

function completeRequest(operation: Operation, traits: RouteTraits, schemas: Record<string, Schema>): void {
  if (traits.requestBody) operation.requestBody = structuredClone(traits.requestBody) as never
  const { requestBody, operationId } = operation
  if (requestBody) {
    // Described where the schema is.
    if (!traits.requestBody) requestBody.description = undefined
    requestBody.required = !traits.bodyOptional
    for (const media of Object.values(requestBody.content))
      media.schema = nameSchema(media.schema, `${capitalize(operationId)}Request`, schemas)
  }
  if (traits.waits) operation.parameters = [...(operation.parameters ?? []), PREFER]
  if ('412' in operation.responses) operation.parameters = [...(operation.parameters ?? []), IF_MATCH]
}

function completeSuccesses(operation: Operation, traits: RouteTraits, schemas: Record<string, Schema>): void {
  const isPaged = operation.parameters?.some(({ name }) => name === 'page')
  for (const [status, response] of Object.entries(operation.responses)) {
    if (!status.startsWith('2') || '$ref' in response) continue
    if (response.description === 'Default Response') response.description = SUCCESSES[status] ?? status
    if (isPaged) response.headers = { ...response.headers, Link: {} as Header, 'X-Total-Count': {} as Header }
    if (traits.waits) response.headers = { ...response.headers, 'Preference-Applied': {} as Header }
    for (const name of Object.keys(response.headers ?? {})) {
      if (name in COMMON_HEADERS) response.headers![name] = { $ref: `#/components/headers/${name}` }
    }
    for (const media of Object.values(response.content ?? {}))
      media.schema = nameResponse(media.schema, capitalize(operation.operationId), schemas)
  }
}

/** The schema of a response, or of the items of a list. */
function nameResponse(schema: Schema, name: string, schemas: Record<string, Schema>): Schema {
  // Next to a reference there is only the description of the response.
  if (schema.$ref) return { $ref: schema.$ref }
  if (schema.type === 'array') return { ...schema, items: nameSchema(schema.items, `${name}Item`, schemas) }
  return schema.type === 'object' && schema.properties
    ? nameSchema(schema, `${name}Response`, schemas)
    : schema
}

/** Generated clients name their types after schemas: `title` if a schema has one, else after the operation. */
function nameSchema(schema: Schema, fallback: string, schemas: Record<string, Schema>): Schema {
  if (schema.$ref) return schema
  const { title: name = fallback, ...unnamed } = schema
  const known = schemas[name]
  if (known && JSON.stringify(known) !== JSON.stringify(unnamed))
    throw new Error(`two different schemas of the OpenAPI document are named ${name}`)
  schemas[name] = unnamed
  return { $ref: `#/components/schemas/${name}` }
}

function addExamples({ requestBody, responses }: Operation, example: Examples[string] | undefined): void {
  show(requestBody?.content, example?.request)
  for (const [status, response] of Object.entries(responses)) {
    if ('content' in response) show(response.content, example?.responses[status])
  }

  /** Of a body that may have several types, the example shows the first. */
  function show(content: Record<string, Media> | undefined, value: unknown): void {
    const media = Object.values(content ?? {})[0]
    if (!media || value === undefined) return
    delete media.example
    media.examples = { recorded: { value } }
  }
}

function shareErrors(operation: Operation, method: string, path: string, traits: RouteTraits): void {
  const { responses, security } = operation
  const declared = Object.keys(responses).filter((status) => Number(status) >= 400)
  const general = errorsOf({
    ...traits,
    method,
    hasParams: path.includes('{'),
    isPublic: security?.length === 0,
  })
  for (const status of new Set([...declared.map(Number), ...general]))
    responses[status] = { $ref: `#/components/responses/${nameOfError(status)}` }
}

/** `allOf` with one reference is the reference, with what stands next to it. */
function mergeReferences(schema: Schema): void {
  for (const [key, value] of Object.entries(schema)) {
    if (typeof value !== 'object' || value === null) continue
    const { allOf, ...others } = value as Schema
    if (allOf?.length === 1 && allOf[0].$ref) schema[key] = { $ref: allOf[0].$ref, ...others }
    else mergeReferences(value)
  }
}

function capitalize(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1)
}
