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
import {
  changeOrganization,
  createOrganization,
  findOrganization,
  removeOrganization,
} from './manage-organizations.ts'
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
    run: createOrganization,
  })

  organizations.read('/organizations/:id', {
    description: 'Includes its owner, and counts of what is in it.',
    find: ({ id }) => findOrganization(db, id),
  })

  organizations.change('/organizations/:id', {
    body: organizationChange,
    run: changeOrganization,
  })

  organizations.remove('/organizations/:id', {
    description: `${CASCADE} Its members lose their roles in it.`,
    query: cascadeQuery,
    run: removeOrganization,
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
    find: ({ caller, scope }, name, page) => listProjects(db, caller, scope, name, page),
  })

  projects.create('/organizations/:id/projects', {
    description: 'Its name must be unique in the organization.',
    body: projectBody,
    run: createProject,
  })

  projects.read('/projects/:id', {
    description: 'Includes its organization, and counts of what is in it.',
    find: ({ id }) => findProject(db, id),
  })

  projects.change('/projects/:id', {
    body: projectChange,
    run: changeProject,
  })

  projects.remove('/projects/:id', {
    description: CASCADE,
    query: cascadeQuery,
    run: removeProject,
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
    find: ({ caller, scope }, name, page) => listEnvironments(db, caller, scope, name, page),
  })

  environments.create('/projects/:id/environments', {
    description: 'Its name must be unique in the project.',
    body: environmentBody,
    run: createEnvironment,
  })

  environments.read('/environments/:id', {
    description: 'Includes its project, and counts of what is in it.',
    find: ({ id }) => findEnvironment(db, id),
  })

  environments.change('/environments/:id', {
    body: environmentChange,
    run: changeEnvironment,
  })

  environments.remove('/environments/:id', {
    description: CASCADE,
    query: cascadeQuery,
    run: removeEnvironment,
  })

  environments.command('/environments/:id/archive', {
    access: permissions('environment', 'id', 'environment:edit'),
    operationId: 'archiveEnvironment',
    summary: 'Archive an environment',
    description: 'Nothing runs in it until it is unarchived. Returns 409 while a run is unfinished.',
    errors: [409],
    run: (trx, call) => archiveEnvironment(trx, call, true),
  })

  environments.command('/environments/:id/unarchive', {
    access: permissions('environment', 'id', 'environment:edit'),
    operationId: 'unarchiveEnvironment',
    summary: 'Unarchive an environment',
    description: 'Its pipelines can run again.',
    run: (trx, call) => archiveEnvironment(trx, call, false),
  })
}
