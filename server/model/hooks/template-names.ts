import { userSchema } from '#access/accounts/user-schema.ts'
import { type JsonSchema, templateNames as makeNames, type NameTree } from '#adapters/templates/names.ts'
import { actionSchema, actionSchemas, applicationSchema } from '#model/actions/schemas.ts'
import {
  environmentSchema,
  inventorySchemas,
  organizationSchema,
  projectSchema,
} from '#model/inventory/schemas.ts'

let names: NameTree | undefined

/** The names that templates of outgoing hooks may use: the fields of the API, and no others. */
export function templateNames(): NameTree {
  names ??= makeNames(
    {
      action: asSchema(actionSchema),
      application: withoutActions(asSchema(applicationSchema)),
      environment: asSchema(environmentSchema),
      project: asSchema(projectSchema),
      organization: asSchema(organizationSchema),
    },
    (ref) => byId.get(ref),
  )
  return names
}

const asSchema = (schema: object) => schema as JsonSchema

const byId = new Map(
  [userSchema, ...inventorySchemas, ...actionSchemas].map((schema) => [`${schema.$id}#`, asSchema(schema)]),
)

/** In a template, related actions are under `action`, not under `application`. */
function withoutActions(schema: JsonSchema): JsonSchema {
  const { last_deployments: _, credential: __, ...properties } = schema.properties as Record<string, unknown>
  return { ...schema, properties }
}
