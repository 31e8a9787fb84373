import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { can } from '#access/authorization/permissions.ts'
import { type ResourceDeps, resourceRoutes } from '#access/resource-routes.ts'
import type { EmbedDeps } from '#model/actions/embedded.ts'
import type { SecretBox } from '#platform/crypto/secret-box.ts'
import { cascadeQuery } from '#platform/http/schemas.ts'
import type { InspectDeps } from './inspect-repository.ts'
import { inspectionRoutes } from './inspection-routes.ts'
import { inspectionSchema } from './inspection-schemas.ts'
import { linkRoutes } from './link-routes.ts'
import { changeApplication, createApplication, removeApplication } from './manage-applications.ts'
import {
  type ApplicationRow,
  findApplication,
  listApplications,
  presentApplications,
} from './read-applications.ts'
import {
  applicationBody,
  applicationChange,
  applicationRecordSchema,
  applicationVariableSchema,
  linkedResourceSchema,
  variableBody,
  variableChange,
} from './schemas.ts'
import {
  changeVariable,
  createVariable,
  findVariable,
  listVariables,
  presentVariable,
  removeVariable,
  type VariableRow,
} from './variables.ts'

export type ApplicationRoutes = EmbedDeps & InspectDeps & { box: SecretBox }

export const applicationRoutes: FastifyPluginAsyncTypebox<ApplicationRoutes> = async (app, deps) => {
  const { db } = deps
  await app.register(variableRoutes, deps)
  await app.register(linkRoutes, deps)
  await app.register(inspectionRoutes, deps)
  const applications = resourceRoutes(app, deps, {
    tag: 'Applications',
    name: 'application',
    record: applicationRecordSchema,
    present: ({ caller, scope }, rows: readonly ApplicationRow[]) =>
      presentApplications(deps, caller, scope, rows),
  })

  applications.list('/environments/:id/applications', {
    compress: true,
    description: 'Newest first, each with its latest deployments if you may view actions.',
    find: ({ id }, name, page) => listApplications(db, id, name, page),
  })

  applications.create('/environments/:id/applications', {
    description:
      'Says what to deploy and, with `linked_resources`, where. Setting a credential requires `credential:run`. Only instance administrators can use a repository on this machine or local servers.',
    body: applicationBody,
    errors: [415],
    run: createApplication,
  })

  applications.read('/applications/:id', {
    description: 'Includes its latest deployments if you may view actions.',
    find: ({ id }) => findApplication(db, id),
  })

  applications.change('/applications/:id', {
    description:
      'A list is replaced as a whole. Changing the repository requires `credential:run` if the application has a credential, or if one of its hooks sends a token. Only instance administrators can change what runs on a local server.',
    body: applicationChange,
    errors: [409, 415],
    run: changeApplication,
  })

  applications.remove('/applications/:id', {
    description:
      'Deletes its variables; its runs, and its files on servers, remain. Returns 409 while it has pipelines or is linked to servers. With `cascade`, these are removed too, along with the hooks of the pipelines, which requires `pipeline:remove` and `hook:remove`. Never removed while a run is unfinished.',
    query: cascadeQuery,
    run: removeApplication,
  })
}

export const applicationSchemas = [
  linkedResourceSchema,
  applicationRecordSchema,
  applicationVariableSchema,
  inspectionSchema,
]

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
