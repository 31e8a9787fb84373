// Reading the OpenAPI document in tests.

// biome-ignore lint/suspicious/noExplicitAny: JSON Schema has too many forms to type each of them
export type Schema = Record<string, any>
type Content = { content?: Record<string, { schema: Schema }> }
export type OpenApiDocument = {
  paths: Record<
    string,
    Record<
      string,
      { parameters?: { schema: Schema }[]; requestBody?: Content; responses: Record<string, Content> }
    >
  >
  components: { schemas: Record<string, Schema> }
}

/** Visits every schema of the document, those inside of others included; `path` says where it is. */
export function walkSchemas(document: OpenApiDocument, visit: (schema: Schema, path: string) => void): void {
  const walk = (schema: Schema, path: string) => {
    visit(schema, path)
    for (const [name, property] of Object.entries<Schema>(schema.properties ?? {}))
      walk(property, `${path}.${name}`)
    for (const [index, choice] of (schema.anyOf ?? []).entries()) walk(choice, `${path}.anyOf.${index}`)
    for (const inner of ['items', 'additionalProperties', 'not'])
      if (typeof schema[inner] === 'object') walk(schema[inner], `${path}.${inner}`)
  }
  for (const [name, schema] of Object.entries(document.components.schemas)) walk(schema, name)
  for (const [path, operations] of Object.entries(document.paths)) {
    for (const [method, { parameters = [], responses }] of Object.entries(operations)) {
      for (const { schema } of parameters) walk(schema, `${method} ${path} parameter`)
      for (const { content = {} } of Object.values(responses)) {
        for (const { schema } of Object.values(content)) walk(schema, `${method} ${path}`)
      }
    }
  }
}
