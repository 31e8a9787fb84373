import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { permissions } from '#access/authorization/enforce.ts'
import { can } from '#access/authorization/permissions.ts'
import { type ResourceDeps, resourceRoutes } from '#access/resource-routes.ts'
import type { SecretBox } from '#platform/crypto/secret-box.ts'
import { applicationVariableSchema, variableBody, variableChange } from './schemas.ts'
import {
  changeVariable,
  createVariable,
  findVariable,
  listVariables,
  presentVariable,
  removeVariable,
  type VariableRow,
} from './variables.ts'

export type VariableRoutes = ResourceDeps & { box: SecretBox }

const LOCAL = 'If the application is linked to a local server, only instance administrators can do this.'
const view = permissions('application', 'id', 'application:view')
const edit = permissions('application', 'id', 'application:edit')

export const variableRoutes: FastifyPluginAsyncTypebox<VariableRoutes> = async (app, deps) => {
  const { db, box } = deps
  const variables = resourceRoutes(app, deps, {
    tag: 'Applications',
    name: 'variable',
    record: applicationVariableSchema,
    present: ({ caller, scope }, rows: readonly VariableRow[]) => {
      const mayEdit = can(caller, 'application:edit', scope)
      return rows.map((row) => presentVariable(row, { box, mayEdit }))
    },
  })

  variables.list('/applications/:id/variables', {
    access: view,
    description: 'Newest first. Values require `application:edit`; hidden values are never returned.',
    find: ({ params }, name, page) => listVariables(db, params.id, name, page),
  })

  variables.create('/applications/:id/variables', {
    access: edit,
    description: `From the next run on, commands of the application have it in their environment. ${LOCAL}`,
    body: variableBody,
    errors: [409, 415],
    run: (trx, { actor, caller, params, body }) =>
      createVariable(trx, { actor, caller, box }, params.id, body),
  })

  variables.read('/applications/:id/variables/:variable_id', {
    access: view,
    description: 'The value requires `application:edit`; a hidden value is never returned.',
    find: ({ params }) => findVariable(db, params.id, params.variable_id),
  })

  variables.change('/applications/:id/variables/:variable_id', {
    access: edit,
    description: `To make a hidden variable visible, send its value. ${LOCAL}`,
    body: variableChange,
    errors: [415],
    run: (trx, { actor, caller, params, body, ifMatch }) =>
      changeVariable(trx, { actor, caller, box }, params.id, params.variable_id, body, ifMatch),
  })

  variables.remove('/applications/:id/variables/:variable_id', {
    access: edit,
    description: LOCAL,
    run: (trx, call) => removeVariable(trx, call, call.params.id, call.params.variable_id, call.ifMatch),
  })
}
