import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { permissions } from '#access/authorization/enforce.ts'
import { type ResourceDeps, resourceRoutes } from '#access/resource-routes.ts'
import {
  changeFreeze,
  createEnvironmentFreeze,
  createOrganizationFreeze,
  type FreezeRow,
  findFreeze,
  listOfEnvironment,
  listOfOrganization,
  presentFreeze,
  removeFreeze,
} from './manage-freezes.ts'
import { freezeBody, freezeChange, freezeSchema } from './schemas.ts'

const HOLDS =
  'From the moment of the response on, nothing that it covers starts while it is in force: runs wait as `WAITING_FREEZE`, without a slot. Runs that have started continue, and rollbacks are not held.'

export const freezeRoutes: FastifyPluginAsyncTypebox<ResourceDeps> = async (app, deps) => {
  const { db } = deps
  const freezes = resourceRoutes(app, deps, {
    tag: 'Freezes',
    name: 'freeze',
    record: freezeSchema,
    present: (_, rows: readonly FreezeRow[]) => rows.map(presentFreeze),
  })

  freezes.list('/environments/:id/freezes', {
    access: permissions('environment', 'id', 'environment:view'),
    operationId: 'listEnvironmentFreezes',
    description: 'Those of the environment and those of its organization, newest first; past ones included.',
    find: ({ scope: { organization_id, environment_id = null } }, name, page) =>
      listOfEnvironment(db, { organization_id, environment_id }, name, page),
  })

  freezes.create('/environments/:id/freezes', {
    access: permissions('environment', 'id', 'environment:edit'),
    operationId: 'createEnvironmentFreeze',
    summary: 'Freeze an environment',
    description: HOLDS,
    body: freezeBody,
    run: createEnvironmentFreeze,
  })

  freezes.list('/organizations/:id/freezes', {
    access: permissions('organization', 'id', 'organization:view'),
    operationId: 'listOrganizationFreezes',
    description: 'Those of the organization as a whole, newest first; past ones included.',
    find: ({ id }, name, page) => listOfOrganization(db, id, name, page),
  })

  freezes.create('/organizations/:id/freezes', {
    access: permissions('organization', 'id', 'organization:edit'),
    operationId: 'createOrganizationFreeze',
    summary: 'Freeze an organization',
    description: `Covers every environment of the organization. ${HOLDS}`,
    body: freezeBody,
    run: createOrganizationFreeze,
  })

  freezes.read('/freezes/:id', {
    access: permissions('freeze', 'id', 'environment:view'),
    description: 'Says whether it is in force now, and until when.',
    find: ({ id }) => findFreeze(db, id),
  })

  freezes.change('/freezes/:id', {
    access: permissions('freeze', 'id', 'freeze'),
    description:
      'Requires `environment:edit`, or `organization:edit` for a freeze of an organization. A freeze that you give `weekly` forgets its dates, and the other way around. Runs that it no longer holds start within seconds.',
    body: freezeChange,
    run: changeFreeze,
  })

  freezes.remove('/freezes/:id', {
    access: permissions('freeze', 'id', 'freeze'),
    description:
      'Requires `environment:edit`, or `organization:edit` for a freeze of an organization. Runs that it held start within seconds.',
    run: removeFreeze,
  })
}
