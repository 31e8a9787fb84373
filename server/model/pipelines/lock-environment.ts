import type { Transaction } from 'kysely'
import type { Tables } from '#platform/database/tables.ts'

export type EnvironmentHeld = { organization_id: number; project_id: number; environment_id: number }

/**
 * Taken before anything of an environment is changed, and kept to the end of the transaction: applications,
 * pipelines, steps and links of one environment are changed by one person at a time, so that what was checked
 * (names, circles, which servers are linked) still holds when it is stored. Undefined: it is gone.
 */
export function lockEnvironment(
  trx: Transaction<Tables>,
  environmentId: number,
): Promise<EnvironmentHeld | undefined> {
  return trx
    .selectFrom('environments')
    .innerJoin('projects', 'projects.id', 'environments.project_id')
    .select(['projects.organization_id', 'environments.project_id', 'environments.id as environment_id'])
    .where('environments.id', '=', environmentId)
    .where('environments.deleted_at', 'is', null)
    .forNoKeyUpdate('environments')
    .executeTakeFirst()
}

type InEnvironment = 'applications' | 'servers' | 'pipelines'

/** The same by something that stands in the environment, which is held as well; undefined when it is gone. */
export async function lockAround(
  trx: Transaction<Tables>,
  table: InEnvironment,
  id: number,
): Promise<EnvironmentHeld | undefined> {
  const things = trx
    .selectFrom(table as 'pipelines')
    .select('environment_id')
    .where('id', '=', id)
    .where('deleted_at', 'is', null)
  const place = await things.executeTakeFirst()
  const held = place && (await lockEnvironment(trx, place.environment_id))
  // Looked at once more: somebody may have removed it while we waited.
  return held && (await things.forShare().executeTakeFirst()) && held
}
