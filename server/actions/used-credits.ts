import { sql } from 'kysely'
import type { Database } from '#database/connect.ts'
import type { Environment } from '#inventory/schemas.ts'
import type { TreeSnapshot } from '#inventory/tree.ts'

/** Environments as the tree has them, with the target runs of this month (UTC) filled in at both levels. */
export async function withUsedCredits(
  db: Database,
  tree: TreeSnapshot,
  environmentIds: readonly number[],
): Promise<Map<number, Environment>> {
  const [environments, places] = await Promise.all([tree.environments(environmentIds), tree.places()])
  const wanted = [...new Set(environmentIds)].map((id) => environments.get(id)!)
  const projectIds = new Set(wanted.map((environment) => environment.project.id))
  const siblings = places.filter((place) => projectIds.has(place.project_id))
  const { rows } = await sql<{ environment_id: number; target_runs: number }>`
    select environment_id, target_runs from used_credits
    where month = date_trunc('month', now())::date
      and environment_id = any(${siblings.map((place) => place.environment_id)}::bigint[])`.execute(db)
  const runsIn = new Map(rows.map((row) => [row.environment_id, row.target_runs]))
  const runsBelow = (projectId: number) =>
    siblings
      .filter((place) => place.project_id === projectId)
      .reduce((sum, place) => sum + (runsIn.get(place.environment_id) ?? 0), 0)
  return new Map(
    wanted.map((environment) => [
      environment.id,
      {
        ...environment,
        used_credits: runsIn.get(environment.id) ?? 0,
        project: { ...environment.project, used_credits: runsBelow(environment.project.id) },
      },
    ]),
  )
}
