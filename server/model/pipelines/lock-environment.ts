import type { Transaction } from '#platform/database/connect.ts'
import { RELEASE_WHEN_SILENT } from '#platform/database/release-when-silent.ts'
import { isOutdated } from '#platform/http/if-match.ts'
import type { HttpProblem } from '#platform/http/problems.ts'

export type LockedEnvironment = { organization_id: number; project_id: number; environment_id: number }

/**
 * Acquired before anything in an environment changes, and held until the transaction ends: applications, pipelines,
 * steps and links of one environment are changed by one transaction at a time, so that what was checked (names,
 * cycles, linked servers) is still true when it is stored. Undefined: the environment does not exist.
 */
export function lockEnvironment(
  trx: Transaction,
  environmentId: number,
): Promise<LockedEnvironment | undefined> {
  return trx
    .selectFrom('environments')
    .innerJoin('projects', 'projects.id', 'environments.project_id')
    .select(['projects.organization_id', 'environments.project_id', 'environments.id as environment_id'])
    .where('environments.id', '=', environmentId)
    .where('environments.deleted_at', 'is', null)
    .where(RELEASE_WHEN_SILENT, 'is not', null)
    .forNoKeyUpdate('environments')
    .executeTakeFirst()
}

type InEnvironment = 'applications' | 'servers' | 'pipelines'

/** Locks a resource and its environment; undefined when the resource does not exist. */
export async function lockEnvironmentOf(
  trx: Transaction,
  table: InEnvironment,
  id: number,
): Promise<LockedEnvironment | undefined> {
  const rows = trx
    .selectFrom(table as 'pipelines')
    .select('environment_id')
    .where('id', '=', id)
    .where('deleted_at', 'is', null)
  const found = await rows.executeTakeFirst()
  const locked = found && (await lockEnvironment(trx, found.environment_id))
  // Read again: it may have been removed while this transaction waited.
  return locked && (await rows.forShare().executeTakeFirst()) && locked
}

/**
 * Locks the environment around something, then finds the row to change. `ifMatch` is the row version that the
 * caller last saw, when they sent one.
 */
export async function lockForChange<Row extends { row_version: string }>(
  trx: Transaction,
  table: InEnvironment,
  id: number,
  find: (trx: Transaction, id: number, options: { lock: true }) => Promise<Row | undefined>,
  ifMatch?: string,
): Promise<{ kind: 'locked'; scope: LockedEnvironment; row: Row } | HttpProblem> {
  const scope = await lockEnvironmentOf(trx, table, id)
  const row = scope && (await find(trx, id, { lock: true }))
  if (!row) return { kind: 'gone' }
  return isOutdated(ifMatch, row.row_version) ? { kind: 'changed-meanwhile' } : { kind: 'locked', scope, row }
}
