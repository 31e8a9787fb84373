import { isDeepStrictEqual } from 'node:util'
import { auditorOf, type Change, type Creation, type Removal, recordAudit } from '#access/audit/record.ts'
import { wholeApproval } from '#model/gates/approval-terms.ts'
import { isNameTaken } from '#model/inventory/names.ts'
import { wholeRetention } from '#model/inventory/retention.ts'
import type { Database, Transaction } from '#platform/database/connect.ts'
import { findById, insertRow, NOW, rowVersion, updateRow } from '#platform/database/rows.ts'
import { isOutdated } from '#platform/http/if-match.ts'
import { CHANGED_MEANWHILE, GONE, REMOVED } from '#platform/http/problems.ts'
import { checkApproval, storeTerms } from './manage-approval.ts'
import { changes, loadNames, nameTaken, notEmpty } from './manage-organizations.ts'
import { findProject } from './manage-projects.ts'
import { checkRemoval, checkUnfinished, lockEnvironments, removeEnvironments } from './remove-environments.ts'
import type { EnvironmentBody, EnvironmentChange } from './schemas.ts'

const audit = auditorOf<EnvironmentRow>('environment', [
  'name',
  'type',
  'description',
  'retention',
  'approval',
])

export async function createEnvironment(trx: Transaction, request: Creation<EnvironmentBody>) {
  const { parentId: project_id, body } = request
  const { name, type, description = null, retention } = body
  const approval = wholeApproval(body.approval ?? null)
  // Locked: it is not removed meanwhile, and names in it are assigned one at a time.
  const project = await findProject(trx, project_id, { lock: true })
  if (!project) return GONE
  if (await isNameTaken(trx, 'environments', project_id, name)) return nameTaken('environment')
  const problem = approval && (await checkApproval(trx, approval, { projectId: project_id }))
  if (problem) return problem
  const columns = { project_id, name, type, description, retention: retentionColumn(retention) }
  const id = await insertRow(trx, 'environments', {
    ...columns,
    approval: approval && JSON.stringify(approval),
  })
  if (approval) await storeTerms(trx, id, approval)
  return audit.saved(trx, request, project.organization_id, null, await findEnvironment(trx, id))
}

export async function changeEnvironment(trx: Transaction, request: Change<EnvironmentChange>) {
  const { id, ifMatch } = request
  const { retention, approval, ...columns } = request.body
  const input = {
    ...columns,
    ...(retention !== undefined && { retention: wholeRetention(retention) }),
    ...(approval !== undefined && { approval: wholeApproval(approval) }),
  }
  const before = await lockEnvironment(trx, id)
  if (!before) return GONE
  if (isOutdated(ifMatch, before.row_version)) return CHANGED_MEANWHILE
  if (!changes(before, input)) return { kind: 'done' as const, row: before }
  const { name = before.name } = input
  if (await isNameTaken(trx, 'environments', before.project_id, name, id)) return nameTaken('environment')
  const terms = input.approval
  if (terms !== undefined && !isDeepStrictEqual(terms, before.approval)) {
    const problem =
      terms && (await checkApproval(trx, terms, { environmentId: id, projectId: before.project_id }))
    if (problem) return problem
    await storeTerms(trx, id, terms)
  }
  await updateRow(trx, 'environments', id, {
    ...columns,
    retention: retentionColumn(retention),
    approval: terms && JSON.stringify(terms),
  })
  return audit.saved(trx, request, before.organization_id, before, await findEnvironment(trx, id))
}

/** Nothing runs in an archived environment, so its runs must have ended first. Idempotent, like unarchiving. */
export async function archiveEnvironment(
  trx: Transaction,
  { id, actor }: Pick<Change<unknown>, 'id' | 'actor'>,
  archived: boolean,
) {
  const before = await lockEnvironment(trx, id)
  if (!before) return GONE
  if ((before.archived_at !== null) === archived) return { kind: 'done' as const, row: before }
  const problem = archived ? await checkUnfinished(trx, [before]) : undefined
  if (problem) return problem
  await updateRow(trx, 'environments', id, { archived_at: archived ? NOW : null })
  await recordAudit(trx, actor, {
    organizationId: before.organization_id,
    verb: archived ? 'archived' : 'unarchived',
    subject: { type: 'environment', id, name: before.name },
    before: { archived: !archived },
    after: { archived },
  })
  return { kind: 'done' as const, row: (await findEnvironment(trx, id))! }
}

/** With `cascade`, everything in it is removed too; the record of its runs remains. */
export async function removeEnvironment(trx: Transaction, { id, caller, actor, cascade, ifMatch }: Removal) {
  const environments = await lockEnvironments(trx, 'id', id)
  const row = await findEnvironment(trx, id)
  if (!row) return GONE
  if (isOutdated(ifMatch, row.row_version)) return CHANGED_MEANWHILE
  const contents = {
    applications: await loadNames(trx, 'applications', id),
    servers: await loadNames(trx, 'servers', id),
  }
  const problem =
    (!cascade && notEmpty('environment', contents)) || (await checkRemoval(trx, caller, environments))
  if (problem) return problem
  await removeEnvironments(trx, actor, environments)
  return REMOVED
}

type EnvironmentRow = NonNullable<Awaited<ReturnType<typeof findEnvironment>>>

export function findEnvironment(db: Database, id: number, options?: { lock: boolean }) {
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
      'environments.retention',
      'environments.approval',
      'projects.organization_id',
      rowVersion('environments'),
    ])
    .where('environments.deleted_at', 'is', null)
  return findById(query, 'environments', id, options)
}

function retentionColumn(retention: EnvironmentBody['retention']): string | null | undefined {
  return retention && JSON.stringify(wholeRetention(retention))
}

/** Always the project first, then the environment: two callers cannot deadlock. */
async function lockEnvironment(trx: Transaction, id: number): Promise<EnvironmentRow | undefined> {
  const seen = await findEnvironment(trx, id)
  if (!seen || !(await findProject(trx, seen.project_id, { lock: true }))) return undefined
  return findEnvironment(trx, id, { lock: true })
}
