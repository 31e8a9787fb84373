import { type RawBuilder, sql } from 'kysely'
import type { EnvironmentScope } from '#model/inventory/environment-scopes.ts'
import type { Environment } from '#model/inventory/schemas.ts'
import type { Database } from '#platform/database/connect.ts'

/** Target runs of this month (UTC) by environment; environments without any are missing. */
export type Credits = ReadonlyMap<number, number>

const THIS_MONTH = sql`date_trunc('month', now())::date`

export async function loadCredits(db: Database, environmentIds: readonly number[]): Promise<Credits> {
  const { rows } = await sql<{ environment_id: number; target_runs: number }>`
    select environment_id, target_runs from used_credits
    where month = ${THIS_MONTH} and environment_id = any(${environmentIds}::bigint[])`.execute(db)
  return new Map(rows.map((row) => [row.environment_id, row.target_runs]))
}

/** The same inside another statement: `[[environment, target runs], …]` of the project that an environment belongs to. */
export function creditsAround(environmentId: RawBuilder<unknown>): RawBuilder<[number, number][]> {
  return sql`(
    select coalesce(json_agg(json_build_array(u.environment_id, u.target_runs)), '[]')
    from environments here join environments e on e.project_id = here.project_id join used_credits u on u.environment_id = e.id
    where here.id = ${environmentId} and u.month = ${THIS_MONTH})`
}

/** Fills in the credits of an environment and of its project. */
export function withCredits(
  environment: Environment,
  credits: Credits,
  scopes: readonly EnvironmentScope[],
): Environment {
  const { project } = environment
  if (credits.size === 0) return environment
  const ofProject = scopes
    .filter((scope) => scope.project_id === project.id)
    .reduce((sum, scope) => sum + (credits.get(scope.environment_id) ?? 0), 0)
  return {
    ...environment,
    used_credits: credits.get(environment.id) ?? 0,
    project: { ...project, used_credits: ofProject },
  }
}
