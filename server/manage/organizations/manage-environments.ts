import { isDeepStrictEqual } from 'node:util'
import { type Selectable, sql, type Transaction, type UpdateObject } from 'kysely'
import { recordAudit } from '#access/audit/record.ts'
import type { Caller } from '#access/authorization/caller.ts'
import { isNameTaken } from '#model/inventory/names.ts'
import type { Database } from '#platform/database/connect.ts'
import type { EnvironmentsTable, Tables } from '#platform/database/tables.ts'
import { isOutdated } from '#platform/http/if-match.ts'
import type { ManageDeps } from './manage-organizations.ts'
import { findProject } from './manage-projects.ts'
import type { RemoveOutcome, SaveOutcome } from './outcomes.ts'
import {
  describeContents,
  holdEnvironments,
  lackingToRemove,
  removeEnvironments,
  unfinishedRuns,
} from './remove-environments.ts'
import type { EnvironmentBody, EnvironmentChange } from './schemas.ts'

export async function createEnvironment(
  trx: Transaction<Tables>,
  { actor }: ManageDeps,
  projectId: number,
  { name, type, description = null }: EnvironmentBody,
): Promise<SaveOutcome> {
  // Locked, so that it cannot go meanwhile, and names in it are given one at a time.
  const project = await findProject(trx, projectId, { lock: true })
  if (!project) return { kind: 'gone' }
  if (await isNameTaken(trx, 'environments', projectId, name)) return { kind: 'name-taken' }
  const after = { name, type, description }
  const { id } = await trx
    .insertInto('environments')
    .values({ project_id: projectId, ...after })
    .returning('id')
    .executeTakeFirstOrThrow()
  const subject = { type: 'environment', id, name }
  await recordAudit(trx, actor, {
    organizationId: project.organization_id,
    verb: 'created',
    subject,
    before: null,
    after,
  })
  return done(trx, id)
}

export async function changeEnvironment(
  trx: Transaction<Tables>,
  deps: ManageDeps,
  id: number,
  wish: EnvironmentChange,
  ifMatch?: string,
): Promise<SaveOutcome> {
  const row = await holdEnvironment(trx, id)
  if (!row) return { kind: 'gone' }
  if (isOutdated(ifMatch, row.row_version)) return { kind: 'changed-meanwhile' }
  const before = { name: row.name, type: row.type, description: row.description }
  const after = { ...before, ...wish }
  if (isDeepStrictEqual(before, after)) return { kind: 'done', row }
  if (await isNameTaken(trx, 'environments', row.project_id, after.name, id)) return { kind: 'name-taken' }
  await update(trx, id, after)
  await record(trx, deps, row, 'changed', before, after)
  return done(trx, id)
}

/** Nothing runs in an archived environment, so what runs there must have ended first. Twice is as good as once. */
export async function archiveEnvironment(
  trx: Transaction<Tables>,
  deps: ManageDeps,
  id: number,
): Promise<SaveOutcome> {
  const row = await holdEnvironment(trx, id)
  if (!row) return { kind: 'gone' }
  if (row.archived_at !== null) return { kind: 'done', row }
  const unfinished = await unfinishedRuns(trx, [row])
  if (unfinished > 0) return { kind: 'busy', unfinished }
  await update(trx, id, { archived_at: sql<string>`now()` })
  await record(trx, deps, row, 'archived', { archived: false }, { archived: true })
  return done(trx, id)
}

export async function unarchiveEnvironment(
  trx: Transaction<Tables>,
  deps: ManageDeps,
  id: number,
): Promise<SaveOutcome> {
  const row = await holdEnvironment(trx, id)
  if (!row) return { kind: 'gone' }
  if (row.archived_at === null) return { kind: 'done', row }
  await update(trx, id, { archived_at: null })
  await record(trx, deps, row, 'unarchived', { archived: true }, { archived: false })
  return done(trx, id)
}

/** With `cascade` everything in it goes as well; what its runs did stays to be seen. */
export async function removeEnvironment(
  trx: Transaction<Tables>,
  { actor }: ManageDeps,
  caller: Pick<Caller, 'grants'>,
  id: number,
  { cascade, ifMatch }: { cascade: boolean; ifMatch?: string },
): Promise<RemoveOutcome> {
  const environments = await holdEnvironments(trx, [id])
  const row = await findEnvironment(trx, id)
  if (!row) return { kind: 'gone' }
  if (isOutdated(ifMatch, row.row_version)) return { kind: 'changed-meanwhile' }
  const by = await describeContents(trx, environments)
  if (by && !cascade) return { kind: 'in-use', by }
  const permissions = await lackingToRemove(trx, caller, environments, 'what-is-in-them')
  if (permissions.length > 0) return { kind: 'lacking', permissions }
  const unfinished = await unfinishedRuns(trx, environments)
  if (unfinished > 0) return { kind: 'busy', unfinished }
  await removeEnvironments(trx, actor, environments)
  return { kind: 'removed' }
}

export type EnvironmentRow = Pick<
  Selectable<EnvironmentsTable>,
  'id' | 'project_id' | 'name' | 'type' | 'description' | 'archived_at'
> & { organization_id: number; row_version: string }

export function findEnvironment(
  db: Database,
  id: number,
  options: { lock?: boolean } = {},
): Promise<EnvironmentRow | undefined> {
  const query = db
    .selectFrom('environments')
    .innerJoin('projects', 'projects.id', 'environments.project_id')
    .select((eb) => [
      'environments.id',
      'environments.project_id',
      'environments.name',
      'environments.type',
      'environments.description',
      'environments.archived_at',
      'projects.organization_id',
      eb.ref('environments.xmin' as 'environments.id').as('row_version'),
    ])
    .where('environments.id', '=', id)
    .where('environments.deleted_at', 'is', null)
    .$castTo<EnvironmentRow>()
  return (options.lock ? query.forNoKeyUpdate('environments') : query).executeTakeFirst()
}

/** Always the project first, then the environment: two of us cannot wait for each other. */
async function holdEnvironment(trx: Transaction<Tables>, id: number): Promise<EnvironmentRow | undefined> {
  const seen = await findEnvironment(trx, id)
  if (!seen || !(await findProject(trx, seen.project_id, { lock: true }))) return undefined
  return findEnvironment(trx, id, { lock: true })
}

async function update(
  trx: Transaction<Tables>,
  id: number,
  columns: UpdateObject<Tables, 'environments'>,
): Promise<void> {
  await trx
    .updateTable('environments')
    .set({ ...columns, updated_at: sql<string>`now()` })
    .where('id', '=', id)
    .execute()
}

function record(
  trx: Transaction<Tables>,
  { actor }: ManageDeps,
  row: EnvironmentRow,
  verb: string,
  before: object,
  after: object,
): Promise<void> {
  const subject = { type: 'environment', id: row.id, name: row.name }
  return recordAudit(trx, actor, { organizationId: row.organization_id, verb, subject, before, after })
}

async function done(trx: Transaction<Tables>, id: number): Promise<SaveOutcome> {
  return { kind: 'done', row: (await findEnvironment(trx, id))! }
}
