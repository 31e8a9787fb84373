import { sql } from 'kysely'
import { type AuditedChange, type Removal, recordAudits } from '#access/audit/record.ts'
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
export async function removeOrganization(trx: Transaction, request: Removal) {
  const { id, caller, actor, cascade, ifMatch } = request
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
    checkPermissions(caller, id, projects, credentials) ??
    (await checkRemoval(trx, caller, environments, ['environment']))
  if (problem) return problem
  await removeEnvironments(trx, actor, environments)
  const projectIds = projects.map((project) => project.id)
  await removeGrants(trx, 'project_id', projectIds)
  const removed = sql`deleted_at = now(), updated_at = now()`
  await sql`update projects set ${removed} where ${anyOf('id', projectIds)}`.execute(trx)
  const credentialIds = credentials.map((credential) => credential.id)
  await sql`
    update credentials set secret = null, active = false, ${removed} where ${anyOf('id', credentialIds)}`.execute(
    trx,
  )
  await recordAudits(trx, actor, [
    ...removalsOf('project', id, projects),
    ...removalsOf('credential', id, credentials),
  ])
  await removeGrants(trx, 'organization_id', [id])
  await trx.deleteFrom('roles').where('organization_id', '=', id).execute()
  await updateRow(trx, 'organizations', id, { deleted_at: NOW })
  return auditOrganization.removed(trx, request, id, row)
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

function removalsOf(type: string, organizationId: number, rows: readonly Named[]): AuditedChange[] {
  return rows.map(({ id, name }) => ({
    organizationId,
    verb: 'removed',
    subject: { type, id, name },
    before: { name },
    after: null,
  }))
}
