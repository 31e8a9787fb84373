import { sql, type Transaction } from 'kysely'
import { auditorOf, recordAudit } from '#access/audit/record.ts'
import type { Caller } from '#access/authorization/caller.ts'
import { isNameTaken } from '#model/inventory/names.ts'
import type { Database } from '#platform/database/connect.ts'
import { rowVersion } from '#platform/database/rows.ts'
import type { Tables } from '#platform/database/tables.ts'
import { isOutdated } from '#platform/http/if-match.ts'
import {
  changes,
  loadNames,
  type ManageDeps,
  nameTaken,
  notEmpty,
  type Removed,
  type Saved,
  update,
} from './manage-organizations.ts'
import { findProject } from './manage-projects.ts'
import { checkRemoval, checkUnfinished, lockEnvironments, removeEnvironments } from './remove-environments.ts'
import type { EnvironmentBody, EnvironmentChange } from './schemas.ts'

const audit = auditorOf<EnvironmentRow>('environment', ['name', 'type', 'description'])

export async function createEnvironment(
  trx: Transaction<Tables>,
  { actor }: ManageDeps,
  projectId: number,
  { name, type, description = null }: EnvironmentBody,
): Promise<Saved> {
  // Locked: it is not removed meanwhile, and names in it are assigned one at a time.
  const project = await findProject(trx, projectId, { lock: true })
  if (!project) return { kind: 'gone' }
  if (await isNameTaken(trx, 'environments', projectId, name)) return nameTaken('environment')
  const { id } = await trx
    .insertInto('environments')
    .values({ project_id: projectId, name, type, description })
    .returning('id')
    .executeTakeFirstOrThrow()
  const row = (await findEnvironment(trx, id))!
  await audit(trx, actor, project.organization_id, null, row)
  return { kind: 'done', row }
}

export async function changeEnvironment(
  trx: Transaction<Tables>,
  { actor }: ManageDeps,
  id: number,
  input: EnvironmentChange,
  ifMatch?: string,
): Promise<Saved> {
  const before = await lockEnvironment(trx, id)
  if (!before) return { kind: 'gone' }
  if (isOutdated(ifMatch, before.row_version)) return { kind: 'changed-meanwhile' }
  if (!changes(before, input)) return { kind: 'done', row: before }
  const { name = before.name } = input
  if (await isNameTaken(trx, 'environments', before.project_id, name, id)) return nameTaken('environment')
  await update(trx, 'environments', id, input)
  const row = (await findEnvironment(trx, id))!
  await audit(trx, actor, before.organization_id, before, row)
  return { kind: 'done', row }
}

/** Nothing runs in an archived environment, so its runs must have ended first. Idempotent, like unarchiving. */
export async function archiveEnvironment(
  trx: Transaction<Tables>,
  { actor }: ManageDeps,
  id: number,
  archived: boolean,
): Promise<Saved> {
  const before = await lockEnvironment(trx, id)
  if (!before) return { kind: 'gone' }
  if ((before.archived_at !== null) === archived) return { kind: 'done', row: before }
  const problem = archived ? await checkUnfinished(trx, [before]) : undefined
  if (problem) return problem
  await update(trx, 'environments', id, { archived_at: archived ? sql<string>`now()` : null })
  await recordAudit(trx, actor, {
    organizationId: before.organization_id,
    verb: archived ? 'archived' : 'unarchived',
    subject: { type: 'environment', id, name: before.name },
    before: { archived: !archived },
    after: { archived },
  })
  return { kind: 'done', row: (await findEnvironment(trx, id))! }
}

/** With `cascade`, everything in it is removed too; the record of its runs remains. */
export async function removeEnvironment(
  trx: Transaction<Tables>,
  { actor }: ManageDeps,
  caller: Pick<Caller, 'grants'>,
  id: number,
  { cascade, ifMatch }: { cascade: boolean; ifMatch?: string },
): Promise<Removed> {
  const environments = await lockEnvironments(trx, 'id', id)
  const row = await findEnvironment(trx, id)
  if (!row) return { kind: 'gone' }
  if (isOutdated(ifMatch, row.row_version)) return { kind: 'changed-meanwhile' }
  const contents = {
    applications: await loadNames(trx, 'applications', 'environment_id', id),
    servers: await loadNames(trx, 'servers', 'environment_id', id),
  }
  const problem =
    (!cascade && notEmpty('environment', contents)) || (await checkRemoval(trx, caller, environments))
  if (problem) return problem
  await removeEnvironments(trx, actor, environments)
  return { kind: 'removed' }
}

type EnvironmentRow = NonNullable<Awaited<ReturnType<typeof findEnvironment>>>

export function findEnvironment(db: Database, id: number, options: { lock?: boolean } = {}) {
  const query = db
    .selectFrom('environments')
    .innerJoin('projects', 'projects.id', 'environments.project_id')
    .select([
      'environments.id',
      'environments.project_id',
      'environments.name',
      'environments.type',
      'environments.description',
      'environments.archived_at',
      'projects.organization_id',
      rowVersion('environments'),
    ])
    .where('environments.id', '=', id)
    .where('environments.deleted_at', 'is', null)
  return (options.lock ? query.forNoKeyUpdate('environments') : query).executeTakeFirst()
}

/** Always the project first, then the environment: two callers cannot deadlock. */
async function lockEnvironment(trx: Transaction<Tables>, id: number): Promise<EnvironmentRow | undefined> {
  const seen = await findEnvironment(trx, id)
  if (!seen || !(await findProject(trx, seen.project_id, { lock: true }))) return undefined
  return findEnvironment(trx, id, { lock: true })
}
