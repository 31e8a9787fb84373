import { auditorOf, type Change, type Creation, type Removal } from '#access/audit/record.ts'
import { isNameTaken } from '#model/inventory/names.ts'
import { removeGrants } from '#model/inventory/remove-grants.ts'
import type { Database, Transaction } from '#platform/database/connect.ts'
import { findById, insertRow, NOW, rowVersion, updateRow } from '#platform/database/rows.ts'
import { isOutdated } from '#platform/http/if-match.ts'
import { CHANGED_MEANWHILE, GONE } from '#platform/http/problems.ts'
import { changes, findOrganization, nameTaken, notEmpty } from './manage-organizations.ts'
import { checkRemoval, lockEnvironments, removeEnvironments } from './remove-environments.ts'
import type { ProjectBody, ProjectChange } from './schemas.ts'

const audit = auditorOf<ProjectRow>('project', ['name', 'logo_url'])

export async function createProject(trx: Transaction, request: Creation<ProjectBody>) {
  const { parentId: organizationId, caller } = request
  const { name, logo_url = null } = request.body
  // Locked: it is not removed meanwhile, and names in it are assigned one at a time.
  if (!(await findOrganization(trx, organizationId, { lock: true }))) return GONE
  if (await isNameTaken(trx, 'projects', organizationId, name)) return nameTaken('project')
  const columns = { organization_id: organizationId, name, logo_url, created_by: caller.id }
  const id = await insertRow(trx, 'projects', columns)
  return audit.saved(trx, request, organizationId, null, await findProject(trx, id))
}

export async function changeProject(trx: Transaction, request: Change<ProjectChange>) {
  const { id, body: input, ifMatch } = request
  const before = await lockProject(trx, id)
  if (!before) return GONE
  if (isOutdated(ifMatch, before.row_version)) return CHANGED_MEANWHILE
  if (!changes(before, input)) return { kind: 'done' as const, row: before }
  const { organization_id: organizationId } = before
  const { name = before.name } = input
  if (await isNameTaken(trx, 'projects', organizationId, name, id)) return nameTaken('project')
  await updateRow(trx, 'projects', id, input)
  return audit.saved(trx, request, organizationId, before, await findProject(trx, id))
}

/** With `cascade`, everything in it is removed too; the record of its runs remains. */
export async function removeProject(trx: Transaction, request: Removal) {
  const { id, caller, actor, cascade, ifMatch } = request
  const row = await lockProject(trx, id)
  if (!row) return GONE
  if (isOutdated(ifMatch, row.row_version)) return CHANGED_MEANWHILE
  const environments = await lockEnvironments(trx, 'project_id', id)
  const problem =
    (!cascade && notEmpty('project', { environments })) ||
    (await checkRemoval(trx, caller, environments, ['environment']))
  if (problem) return problem
  await removeEnvironments(trx, actor, environments)
  await removeGrants(trx, 'project_id', [id])
  await updateRow(trx, 'projects', id, { deleted_at: NOW })
  return audit.removed(trx, request, row.organization_id, row)
}

type ProjectRow = NonNullable<Awaited<ReturnType<typeof findProject>>>

export function findProject(db: Database, id: number, options?: { lock: boolean }) {
  const query = db
    .selectFrom('projects')
    .select(['id', 'organization_id', 'name', 'logo_url', rowVersion('projects')])
    .where('deleted_at', 'is', null)
  return findById(query, 'projects', id, options)
}

/** Always the organization first, then the project: two callers cannot deadlock. */
async function lockProject(trx: Transaction, id: number): Promise<ProjectRow | undefined> {
  const seen = await findProject(trx, id)
  if (!seen || !(await findOrganization(trx, seen.organization_id, { lock: true }))) return undefined
  return findProject(trx, id, { lock: true })
}
