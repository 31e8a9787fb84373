import { sql, type Transaction } from 'kysely'
import { auditorOf } from '#access/audit/record.ts'
import type { Caller } from '#access/authorization/caller.ts'
import { isNameTaken } from '#model/inventory/names.ts'
import type { Database } from '#platform/database/connect.ts'
import { rowVersion } from '#platform/database/rows.ts'
import type { Tables } from '#platform/database/tables.ts'
import { isOutdated } from '#platform/http/if-match.ts'
import {
  changes,
  findOrganization,
  type ManageDeps,
  nameTaken,
  notEmpty,
  type Removed,
  type Saved,
  update,
} from './manage-organizations.ts'
import { checkRemoval, lockEnvironments, removeEnvironments } from './remove-environments.ts'
import type { ProjectBody, ProjectChange } from './schemas.ts'

const audit = auditorOf<ProjectRow>('project', ['name', 'logo_url'])

export async function createProject(
  trx: Transaction<Tables>,
  { actor }: ManageDeps,
  caller: Pick<Caller, 'id'>,
  organizationId: number,
  { name, logo_url = null }: ProjectBody,
): Promise<Saved> {
  // Locked: it is not removed meanwhile, and names in it are assigned one at a time.
  if (!(await findOrganization(trx, organizationId, { lock: true }))) return { kind: 'gone' }
  if (await isNameTaken(trx, 'projects', organizationId, name)) return nameTaken('project')
  const { id } = await trx
    .insertInto('projects')
    .values({ organization_id: organizationId, name, logo_url, created_by: caller.id })
    .returning('id')
    .executeTakeFirstOrThrow()
  const row = (await findProject(trx, id))!
  await audit(trx, actor, organizationId, null, row)
  return { kind: 'done', row }
}

export async function changeProject(
  trx: Transaction<Tables>,
  { actor }: ManageDeps,
  id: number,
  input: ProjectChange,
  ifMatch?: string,
): Promise<Saved> {
  const before = await lockProject(trx, id)
  if (!before) return { kind: 'gone' }
  if (isOutdated(ifMatch, before.row_version)) return { kind: 'changed-meanwhile' }
  if (!changes(before, input)) return { kind: 'done', row: before }
  const { organization_id: organizationId } = before
  const { name = before.name } = input
  if (await isNameTaken(trx, 'projects', organizationId, name, id)) return nameTaken('project')
  await update(trx, 'projects', id, input)
  const row = (await findProject(trx, id))!
  await audit(trx, actor, organizationId, before, row)
  return { kind: 'done', row }
}

/** With `cascade`, everything in it is removed too; the record of its runs remains. */
export async function removeProject(
  trx: Transaction<Tables>,
  { actor }: ManageDeps,
  caller: Pick<Caller, 'grants'>,
  id: number,
  { cascade, ifMatch }: { cascade: boolean; ifMatch?: string },
): Promise<Removed> {
  const row = await lockProject(trx, id)
  if (!row) return { kind: 'gone' }
  if (isOutdated(ifMatch, row.row_version)) return { kind: 'changed-meanwhile' }
  const environments = await lockEnvironments(trx, 'project_id', id)
  const problem =
    (!cascade && notEmpty('project', { environments })) ||
    (await checkRemoval(trx, caller, environments, ['environment']))
  if (problem) return problem
  await removeEnvironments(trx, actor, environments)
  await trx.deleteFrom('grants').where('project_id', '=', id).execute()
  await update(trx, 'projects', id, { deleted_at: sql<string>`now()` })
  await audit(trx, actor, row.organization_id, row, null)
  return { kind: 'removed' }
}

type ProjectRow = NonNullable<Awaited<ReturnType<typeof findProject>>>

export function findProject(db: Database, id: number, options: { lock?: boolean } = {}) {
  const query = db
    .selectFrom('projects')
    .select(['id', 'organization_id', 'name', 'logo_url', rowVersion('projects')])
    .where('id', '=', id)
    .where('deleted_at', 'is', null)
  return (options.lock ? query.forNoKeyUpdate() : query).executeTakeFirst()
}

/** Always the organization first, then the project: two callers cannot deadlock. */
async function lockProject(trx: Transaction<Tables>, id: number): Promise<ProjectRow | undefined> {
  const seen = await findProject(trx, id)
  if (!seen || !(await findOrganization(trx, seen.organization_id, { lock: true }))) return undefined
  return findProject(trx, id, { lock: true })
}
