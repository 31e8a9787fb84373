import { isDeepStrictEqual } from 'node:util'
import { sql, type Transaction } from 'kysely'
import { recordAudit } from '#access/audit/record.ts'
import type { Caller } from '#access/authorization/caller.ts'
import { isNameTaken } from '#model/inventory/names.ts'
import type { Database } from '#platform/database/connect.ts'
import type { Tables } from '#platform/database/tables.ts'
import { isOutdated } from '#platform/http/if-match.ts'
import { describeDependents } from './dependents.ts'
import { findOrganization, type ManageDeps } from './manage-organizations.ts'
import type { RemoveOutcome, SaveOutcome } from './outcomes.ts'
import {
  holdEnvironmentsOf,
  lackingToRemove,
  removeEnvironments,
  unfinishedRuns,
} from './remove-environments.ts'
import type { ProjectBody, ProjectChange } from './schemas.ts'

export async function createProject(
  trx: Transaction<Tables>,
  { actor }: ManageDeps,
  caller: Pick<Caller, 'id'>,
  organizationId: number,
  { name, logo_url = null }: ProjectBody,
): Promise<SaveOutcome> {
  // Locked, so that it cannot go meanwhile, and names in it are given one at a time.
  if (!(await findOrganization(trx, organizationId, { lock: true }))) return { kind: 'gone' }
  if (await isNameTaken(trx, 'projects', organizationId, name)) return { kind: 'name-taken' }
  const { id } = await trx
    .insertInto('projects')
    .values({ organization_id: organizationId, name, logo_url, created_by: caller.id })
    .returning('id')
    .executeTakeFirstOrThrow()
  const subject = { type: 'project', id, name }
  await recordAudit(trx, actor, {
    organizationId,
    verb: 'created',
    subject,
    before: null,
    after: { name, logo_url },
  })
  return done(trx, id)
}

export async function changeProject(
  trx: Transaction<Tables>,
  { actor }: ManageDeps,
  id: number,
  wish: ProjectChange,
  ifMatch?: string,
): Promise<SaveOutcome> {
  const row = await holdProject(trx, id)
  if (!row) return { kind: 'gone' }
  if (isOutdated(ifMatch, row.row_version)) return { kind: 'changed-meanwhile' }
  const before = { name: row.name, logo_url: row.logo_url }
  const after = { ...before, ...wish }
  if (isDeepStrictEqual(before, after)) return { kind: 'done', row }
  if (await isNameTaken(trx, 'projects', row.organization_id, after.name, id)) return { kind: 'name-taken' }
  await trx
    .updateTable('projects')
    .set({ ...after, updated_at: sql<string>`now()` })
    .where('id', '=', id)
    .execute()
  const subject = { type: 'project', id, name: after.name }
  await recordAudit(trx, actor, {
    organizationId: row.organization_id,
    verb: 'changed',
    subject,
    before,
    after,
  })
  return done(trx, id)
}

/** With `cascade` everything in it goes as well; what its runs did stays to be seen. */
export async function removeProject(
  trx: Transaction<Tables>,
  { actor }: ManageDeps,
  caller: Pick<Caller, 'grants'>,
  id: number,
  { cascade, ifMatch }: { cascade: boolean; ifMatch?: string },
): Promise<RemoveOutcome> {
  const row = await holdProject(trx, id)
  if (!row) return { kind: 'gone' }
  if (isOutdated(ifMatch, row.row_version)) return { kind: 'changed-meanwhile' }
  const environments = await holdEnvironmentsOf(trx, id)
  const by = describeDependents({ environments })
  if (by && !cascade) return { kind: 'in-use', by }
  const permissions = await lackingToRemove(trx, caller, environments, 'with-them')
  if (permissions.length > 0) return { kind: 'lacking', permissions }
  const unfinished = await unfinishedRuns(trx, environments)
  if (unfinished > 0) return { kind: 'busy', unfinished }

  await removeEnvironments(trx, actor, environments)
  await trx.deleteFrom('grants').where('project_id', '=', id).execute()
  await trx
    .updateTable('projects')
    .set({ deleted_at: sql<string>`now()`, updated_at: sql<string>`now()` })
    .where('id', '=', id)
    .execute()
  const { name, logo_url } = row
  await recordAudit(trx, actor, {
    organizationId: row.organization_id,
    verb: 'removed',
    subject: { type: 'project', id, name },
    before: { name, logo_url },
    after: null,
  })
  return { kind: 'removed' }
}

export function findProject(db: Database, id: number, options: { lock?: boolean } = {}) {
  const query = db
    .selectFrom('projects')
    .select((eb) => [
      'id',
      'organization_id',
      'name',
      'logo_url',
      eb.ref('projects.xmin' as 'id').as('row_version'),
    ])
    .where('id', '=', id)
    .where('deleted_at', 'is', null)
    .$castTo<{
      id: number
      organization_id: number
      name: string
      logo_url: string | null
      row_version: string
    }>()
  return (options.lock ? query.forNoKeyUpdate() : query).executeTakeFirst()
}

/** Always the organization first, then the project: two of us cannot wait for each other. */
async function holdProject(trx: Transaction<Tables>, id: number) {
  const seen = await findProject(trx, id)
  if (!seen || !(await findOrganization(trx, seen.organization_id, { lock: true }))) return undefined
  return findProject(trx, id, { lock: true })
}

async function done(trx: Transaction<Tables>, id: number): Promise<SaveOutcome> {
  return { kind: 'done', row: (await findProject(trx, id))! }
}
