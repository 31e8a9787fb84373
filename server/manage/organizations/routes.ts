import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { instanceAdmin, permissions, showing } from '#access/authorization/enforce.ts'
import { type ResourceDeps, resourceRoutes } from '#access/resource-routes.ts'
import { environmentRecordSchema, organizationSchema, projectSchema } from '#model/inventory/schemas.ts'
import type { Retention } from '#platform/database/tables.ts'
import {
  archiveEnvironment,
  changeEnvironment,
  createEnvironment,
  findEnvironment,
  removeEnvironment,
} from './manage-environments.ts'
import { changeOrganization, createOrganization, findOrganization } from './manage-organizations.ts'
import { changeProject, createProject, findProject, removeProject } from './manage-projects.ts'
import {
  listEnvironments,
  listOrganizations,
  listProjects,
  presentEnvironments,
  presentOrganizations,
  presentProjects,
  type Rows,
} from './read-tree.ts'
import { removeOrganization } from './remove-organization.ts'
import {
  cascadeQuery,
  environmentBody,
  environmentChange,
  organizationBody,
  organizationChange,
  projectBody,
  projectChange,
} from './schemas.ts'

const CASCADE =
  'Returns 409 if it is not empty, unless `cascade=true`, which requires the permission to remove everything in it. Never removed while a run is unfinished. The record of its runs remains.'

/** `retention`: how long the installation keeps what, by default. */
export type OrganizationRoutes = ResourceDeps & { retention: Retention }

export const organizationRoutes: FastifyPluginAsyncTypebox<OrganizationRoutes> = async (app, deps) => {
  const { db } = deps
  const organizations = resourceRoutes(app, deps, {
    tag: 'Organizations',
    name: 'organization',
    record: organizationSchema,
    present: (_, rows: Rows) => presentOrganizations(db, rows),
  })

  organizations.list('/organizations', {
    compress: true,
    access: showing('organization:view'),
    description: 'Those on which you have `organization:view`, newest first.',
    find: ({ caller }, name, page) => listOrganizations(db, caller, name, page),
  })

  organizations.create('/organizations', {
    access: instanceAdmin,
    description:
      'You become its owner. `url_slug` is derived from the name and does not change when the name does.',
    body: organizationBody,
    run: (trx, call) => createOrganization(trx, call, call.body),
  })

  organizations.read('/organizations/:id', {
    access: permissions('organization', 'id', 'organization:view'),
    description: 'Includes its owner, and counts of what is in it.',
    find: ({ params }) => findOrganization(db, params.id),
  })

  organizations.change('/organizations/:id', {
    access: permissions('organization', 'id', 'organization:edit'),
    body: organizationChange,
    run: (trx, call) => changeOrganization(trx, call, call.params.id, call.body, call.ifMatch),
  })

  organizations.remove('/organizations/:id', {
    access: permissions('organization', 'id', 'organization:remove'),
    description: `${CASCADE} Its members lose their roles in it.`,
    query: cascadeQuery,
    errors: [409],
    run: (trx, call) => removeOrganization(trx, call, call.params.id, call),
  })

  const projects = resourceRoutes(app, deps, {
    tag: 'Projects',
    name: 'project',
    record: projectSchema,
    present: (_, rows: Rows) => presentProjects(db, rows),
  })

  projects.list('/organizations/:id/projects', {
    compress: true,
    access: permissions('organization', 'id', 'organization:view'),
    description: 'Those on which you have `project:view`, newest first.',
    find: ({ caller, params }, name, page) => listProjects(db, caller, params.id, name, page),
  })

  projects.create('/organizations/:id/projects', {
    access: permissions('organization', 'id', 'project:add'),
    description: 'Its name must be unique in the organization.',
    body: projectBody,
    run: (trx, call) => createProject(trx, call, call.params.id, call.body),
  })

  projects.read('/projects/:id', {
    access: permissions('project', 'id', 'project:view'),
    description: 'Includes its organization, and counts of what is in it.',
    find: ({ params }) => findProject(db, params.id),
  })

  projects.change('/projects/:id', {
    access: permissions('project', 'id', 'project:edit'),
    body: projectChange,
    run: (trx, call) => changeProject(trx, call, call.params.id, call.body, call.ifMatch),
  })

  projects.remove('/projects/:id', {
    access: permissions('project', 'id', 'project:remove'),
    description: CASCADE,
    query: cascadeQuery,
    errors: [409],
    run: (trx, call) => removeProject(trx, call, call.params.id, call),
  })

  const environments = resourceRoutes(app, deps, {
    tag: 'Environments',
    name: 'environment',
    record: environmentRecordSchema,
    present: (_, rows: Rows) => presentEnvironments(db, rows, deps.retention),
  })

  environments.list('/projects/:id/environments', {
    compress: true,
    access: permissions('project', 'id', 'project:view'),
    description: 'Those on which you have `environment:view`, newest first; archived ones included.',
    find: ({ caller, scope: { organization_id }, params }, name, page) =>
      listEnvironments(db, caller, { organization_id, project_id: params.id }, name, page),
  })

  environments.create('/projects/:id/environments', {
    access: permissions('project', 'id', 'environment:add'),
    description: 'Its name must be unique in the project.',
    body: environmentBody,
    run: (trx, call) => createEnvironment(trx, call, call.params.id, call.body),
  })

  environments.read('/environments/:id', {
    access: permissions('environment', 'id', 'environment:view'),
    description: 'Includes its project, and counts of what is in it.',
    find: ({ params }) => findEnvironment(db, params.id),
  })

  environments.change('/environments/:id', {
    access: permissions('environment', 'id', 'environment:edit'),
    body: environmentChange,
    run: (trx, call) => changeEnvironment(trx, call, call.params.id, call.body, call.ifMatch),
  })

  environments.remove('/environments/:id', {
    access: permissions('environment', 'id', 'environment:remove'),
    description: CASCADE,
    query: cascadeQuery,
    errors: [409],
    run: (trx, call) => removeEnvironment(trx, call, call.params.id, call),
  })

  environments.command('/environments/:id/archive', {
    access: permissions('environment', 'id', 'environment:edit'),
    operationId: 'archiveEnvironment',
    summary: 'Archive an environment',
    description: 'Nothing runs in it until it is unarchived. Returns 409 while a run is unfinished.',
    errors: [409],
    run: (trx, call) => archiveEnvironment(trx, call, call.params.id, true),
  })

  environments.command('/environments/:id/unarchive', {
    access: permissions('environment', 'id', 'environment:edit'),
    operationId: 'unarchiveEnvironment',
    summary: 'Unarchive an environment',
    description: 'Its pipelines can run again.',
    run: (trx, call) => archiveEnvironment(trx, call, call.params.id, false),
  })
}
