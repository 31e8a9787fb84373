import { type AuditedChange, type Requester, recordAudits } from '#access/audit/record.ts'
import type { Caller } from '#access/authorization/caller.ts'
import { can, type Permission } from '#access/authorization/permissions.ts'
import { removeGrants } from '#model/inventory/remove-grants.ts'
import { anyOf } from '#platform/database/any-of.ts'
import type { Transaction } from '#platform/database/connect.ts'
import { NOW, updateRow } from '#platform/database/rows.ts'
import { isOutdated } from '#platform/http/if-match.ts'
import { CHANGED_MEANWHILE, GONE, type HttpProblem } from '#platform/http/problems.ts'
import { auditOrganization, findOrganization, notEmpty } from './manage-organizations.ts'
import {
  checkRemoval,
  type LockedEnvironment,
  lockEnvironments,
  removeEnvironments,
} from './remove-environments.ts'

type Named = { id: number; name: string }

/** Only an empty one, unless `cascade`; its members lose their roles in it. */
export async function removeOrganization(
  trx: Transaction,
  by: Requester,
  id: number,
  { cascade, ifMatch }: { cascade: boolean; ifMatch?: string },
) {
  const row = await findOrganization(trx, id, { lock: true })
  if (!row) return GONE
  if (isOutdated(ifMatch, row.row_version)) return CHANGED_MEANWHILE
  const projects = await lockContents(trx, 'projects', id)
  const credentials = await lockContents(trx, 'credentials', id)
  if (!cascade) {
    const problem = notEmpty('organization', { projects: byName(projects), credentials: byName(credentials) })
    if (problem) return problem
  }
  const environments: LockedEnvironment[] = []
  for (const project of projects)
    environments.push(...(await lockEnvironments(trx, 'project_id', project.id)))
  const problem =
    checkPermissions(by.caller, id, projects, credentials) ??
    (await checkRemoval(trx, by.caller, environments, ['environment']))
  if (problem) return problem
  await removeEnvironments(trx, by.actor, environments)
  await removeProjects(trx, by, id, projects)
  await removeCredentials(trx, by, id, credentials)
  await removeGrants(trx, 'organization_id', [id])
  await trx.deleteFrom('roles').where('organization_id', '=', id).execute()
  await updateRow(trx, 'organizations', id, { deleted_at: NOW })
  return auditOrganization.removed(trx, by, id, row)
}

/** In the order of their ids. */
function lockContents(trx: Transaction, table: 'projects' | 'credentials', id: number): Promise<Named[]> {
  return trx
    .selectFrom(table)
    .select(['id', 'name'])
    .where('organization_id', '=', id)
    .where('deleted_at', 'is', null)
    .orderBy('id')
    .forNoKeyUpdate()
    .execute()
}

const byName = (rows: readonly Named[]) => rows.toSorted((a, b) => (a.name < b.name ? -1 : 1))

/** A cascade removes only what the caller could remove one by one. */
function checkPermissions(
  caller: Pick<Caller, 'grants'>,
  organization_id: number,
  projects: readonly Named[],
  credentials: readonly Named[],
): HttpProblem | undefined {
  const mayRemove = projects.every(({ id }) =>
    can(caller, 'project:remove', { organization_id, project_id: id }),
  )
  const missing: Permission[] = mayRemove ? [] : ['project:remove']
  if (credentials.length > 0 && !can(caller, 'credential:remove', { organization_id }))
    missing.push('credential:remove')
  if (missing.length === 0) return undefined
  const permissions = missing.sort().join(' and ')
  return { kind: 'forbidden', reason: `You need the permission ${permissions} for what is removed with it.` }
}

async function removeProjects(
  trx: Transaction,
  by: Requester,
  organizationId: number,
  rows: readonly Named[],
) {
  const ids = rows.map(({ id }) => id)
  await removeGrants(trx, 'project_id', ids)
  await trx
    .updateTable('projects')
    .set({ deleted_at: NOW, updated_at: NOW })
    .where(anyOf('id', ids))
    .execute()
  await recordAudits(trx, by.actor, removalsOf('project', organizationId, rows))
}

async function removeCredentials(
  trx: Transaction,
  by: Requester,
  organizationId: number,
  rows: readonly Named[],
) {
  await trx
    .updateTable('credentials')
    .set({ secret: null, active: false, deleted_at: NOW, updated_at: NOW })
    .where(
      anyOf(
        'id',
        rows.map(({ id }) => id),
      ),
    )
    .execute()
  await recordAudits(trx, by.actor, removalsOf('credential', organizationId, rows))
}

function removalsOf(type: string, organizationId: number, rows: readonly Named[]): AuditedChange[] {
  return rows.map(({ id, name }) => ({
    organizationId,
    verb: 'removed',
    subject: { type, id, name },
    before: { name },
    after: null,
  }))
}
