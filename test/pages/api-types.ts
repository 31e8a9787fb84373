// Generates the types of the API, as far as the dashboard uses it, from the OpenAPI document. Only what the operations
// listed here refer to is written, so a change elsewhere in the API leaves the file alone.

type Schema = {
  $ref?: string
  type?: string | string[]
  enum?: unknown[]
  const?: unknown
  items?: Schema
  anyOf?: Schema[]
  oneOf?: Schema[]
  allOf?: Schema[]
  properties?: Record<string, Schema>
  required?: string[]
  additionalProperties?: Schema | boolean
}
type Parameter = { in: string; name: string; required?: boolean; schema: Schema }
type Content = { content?: Record<string, { schema: Schema }> }
type Operation = {
  parameters?: Parameter[]
  requestBody?: Content
  responses: Record<string, Content>
}
export type OpenApiDocument = {
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, Schema> }
}

export const USED_OPERATIONS = [
  'POST /session',
  'GET /session',
  'DELETE /session',
  'GET /session/options',
  'POST /session/oidc',
  'POST /session/authorizations',
  'GET /users/me/identities',
  'POST /users/me/identities',
  'DELETE /users/me/identities/{id}',
  'PUT /users/me',
  'POST /users/me/password',
  'GET /users/me/sessions',
  'DELETE /users/me/sessions/{id}',
  'POST /users/me/sessions/end-all',
  'GET /users/personal-access-tokens',
  'POST /users/personal-access-tokens',
  'DELETE /users/personal-access-tokens/{id}',
  'POST /users/read-password-reset',
  'POST /users/reset-password',
  'POST /users/read-invitation',
  'POST /users/accept-invitation',
  'GET /overview',
  'GET /actions',
  'GET /actions/{action_id}',
  'GET /actions/{id}/hook-requests',
  'GET /actions/{action_id}/targets/{target_id}/steps/{order}/logs',
  'POST /actions/{id}/retry',
  'POST /actions/{id}/cancel',
  'GET /organizations',
  'GET /organizations/{id}/projects',
  'GET /projects/{id}',
  'GET /projects/{id}/environments',
  'GET /environments/{id}',
  'GET /environments/{id}/applications',
  'GET /environments/{id}/servers',
  'GET /pipelines/application/{resource_id}',
  'GET /pipelines/server/{resource_id}',
  'GET /pipelines/{id}',
  'GET /pipelines/{id}/hooks',
  'POST /pipelines/{id}/actions',
  'POST /pipelines/{id}/plan',
  'GET /hooks/incoming/{hook_id}',
  'GET /hooks/outgoing/{hook_id}',
  'GET /hooks/incoming/{hook_id}/requests',
  'GET /hooks/outgoing/{hook_id}/requests',
  'GET /hook-requests/{id}',
  'GET /organizations/{id}/members',
  'GET /organizations/{id}/members/{user_id}',
  'GET /organizations/{id}/invitations',
  'DELETE /organizations/{id}/invitations/{invitation_id}',
  'GET /organizations/{id}/roles',
]

/** The data of events on streams, which no operation's JSON refers to. */
const USED_SCHEMAS = ['Error', 'ActionMove', 'TargetMove', 'StepMove', 'LogText', 'StreamEnd']

export function writeApiTypes(document: OpenApiDocument): string {
  const needed = new Set(USED_SCHEMAS)
  const operations = USED_OPERATIONS.map((name) => writeOperation(document, name, needed))
  const written = new Map<string, string>()
  for (const name of needed) written.set(name, writeType(document.components.schemas[name]!, needed))
  const schemas = [...written]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, type]) => `export type ${name} = ${type}\n`)
  return [
    '// Generated from the OpenAPI document by test/pages/api-types.test.ts; do not edit.\n',
    ...schemas,
    `export type Operations = {\n${operations.join('')}}\n`,
  ].join('\n')
}

function writeOperation(document: OpenApiDocument, name: string, needed: Set<string>): string {
  const [method, path] = name.split(' ') as [string, string]
  const operation = document.paths[path]?.[method.toLowerCase()]
  if (!operation) throw new Error(`the API has no ${name}`)
  const parametersIn = (location: string) => {
    const parameters = (operation.parameters ?? []).filter((parameter) => parameter.in === location)
    const properties = Object.fromEntries(parameters.map(({ name, schema }) => [name, schema]))
    const required = parameters.filter((parameter) => parameter.required).map(({ name }) => name)
    return parameters.length === 0 ? 'undefined' : writeObject({ properties, required }, needed)
  }
  const body = jsonOf(operation.requestBody)
  const answers = Object.entries(operation.responses).filter(([status]) => status.startsWith('2'))
  const answer = answers.map(([, response]) => jsonOf(response)).find((schema) => schema !== undefined)
  const parts = [
    `path: ${parametersIn('path')}`,
    `query: ${parametersIn('query')}`,
    `body: ${body ? writeType(body, needed) : 'undefined'}`,
    `answer: ${answer ? writeType(answer, needed) : 'null'}`,
  ]
  return `  '${name}': {\n${parts.map((part) => `    ${part}\n`).join('')}  }\n`
}

function jsonOf(content: Content | undefined): Schema | undefined {
  return content?.content?.['application/json']?.schema
}

function writeType(schema: Schema, needed: Set<string>): string {
  if (schema.$ref) {
    const name = schema.$ref.split('/').at(-1)!
    needed.add(name)
    return name
  }
  if (schema.const !== undefined) return literal(schema.const)
  if (schema.enum) return schema.enum.map(literal).join(' | ')
  const choices = schema.anyOf ?? schema.oneOf
  if (choices) return choices.map((choice) => writeType(choice, needed)).join(' | ')
  if (schema.allOf) return schema.allOf.map((part) => writeType(part, needed)).join(' & ')
  const types = [schema.type ?? []].flat()
  if (types.length === 0) return 'unknown'
  return types.map((type) => writeOne(type, schema, needed)).join(' | ')
}

function writeOne(type: string, schema: Schema, needed: Set<string>): string {
  switch (type) {
    case 'integer':
      return 'number'
    case 'array':
      return `Array<${schema.items ? writeType(schema.items, needed) : 'unknown'}>`
    case 'object':
      return writeObject(schema, needed)
    default:
      return type
  }
}

function writeObject(schema: Schema, needed: Set<string>): string {
  if (!schema.properties) {
    const more = schema.additionalProperties
    return `Record<string, ${typeof more === 'object' ? writeType(more, needed) : 'unknown'}>`
  }
  if (Object.keys(schema.properties).length === 0) return 'Record<string, never>'
  const fields = Object.entries(schema.properties).map(([name, field]) => {
    const key = /^[a-z_]\w*$/i.test(name) ? name : `'${name}'`
    return `${key}${schema.required?.includes(name) ? '' : '?'}: ${writeType(field, needed)}`
  })
  return `{ ${fields.join('; ')} }`
}

function literal(value: unknown): string {
  return typeof value === 'string' ? `'${value}'` : String(value)
}
