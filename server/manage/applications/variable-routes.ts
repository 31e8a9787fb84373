import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
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

export const variableRoutes: FastifyPluginAsyncTypebox<VariableRoutes> = async (app, deps) => {
  const { db, box } = deps
  const variables = resourceRoutes(app, deps, {
    tag: 'Applications',
    name: 'variable',
    permission: 'application',
    isPart: true,
    record: applicationVariableSchema,
    present: ({ caller, scope }, rows: readonly VariableRow[]) => {
      const mayEdit = can(caller, 'application:edit', scope)
      return rows.map((row) => presentVariable(row, { box, mayEdit }))
    },
  })

  variables.list('/applications/:id/variables', {
    description: 'Newest first. Values require `application:edit`; hidden values are never returned.',
    find: ({ id }, name, page) => listVariables(db, id, name, page),
  })

  variables.create('/applications/:id/variables', {
    description: `From the next run on, commands of the application have it in their environment. ${LOCAL}`,
    body: variableBody,
    errors: [409, 415],
    run: (trx, call) => createVariable(trx, { ...call, box }),
  })

  variables.read('/applications/:id/variables/:variable_id', {
    description: 'The value requires `application:edit`; a hidden value is never returned.',
    find: ({ parentId, id }) => findVariable(db, parentId, id),
  })

  variables.change('/applications/:id/variables/:variable_id', {
    description: `To make a hidden variable visible, send its value. ${LOCAL}`,
    body: variableChange,
    errors: [415],
    run: (trx, call) => changeVariable(trx, { ...call, box }),
  })

  variables.remove('/applications/:id/variables/:variable_id', {
    description: LOCAL,
    run: removeVariable,
  })
}
