import { type RawBuilder, sql } from 'kysely'
import type { Database } from '#platform/database/connect.ts'
import { type FreezeTimes, type Window, windowAt } from './freeze-windows.ts'

/** A freeze that covers an environment, as scheduling knows it. */
export type Freeze = FreezeTimes & {
  id: number
  whenOver: 'all' | 'latest'
  /** It covers every environment of the organization. */
  isOfOrganization: boolean
}

/** A JSON array of the freezes that cover an environment and are not over: an expression for a larger statement. */
export function freezesOf(environmentId: number): RawBuilder<Freeze[]> {
  return sql`(
    select coalesce(json_agg(json_build_object('id', f.id, 'starts_at', f.starts_at, 'ends_at', f.ends_at,
      'weekly', f.weekly, 'time_zone', f.time_zone, 'whenOver', f.when_over,
      'isOfOrganization', f.environment_id is null)), '[]')
    from freezes f
    where (f.environment_id = ${environmentId}::bigint or f.environment_id is null and f.organization_id = (
        select p.organization_id from environments e join projects p on p.id = e.project_id
        where e.id = ${environmentId}::bigint))
      and (f.ends_at is null or f.ends_at > now()))`
}

export async function loadFreezes(db: Database, environmentId: number): Promise<Freeze[]> {
  const { rows } = await sql<{ freezes: Freeze[] }>`select ${freezesOf(environmentId)} as freezes`.execute(db)
  return rows[0]!.freezes
}

export type FreezeInForce = Freeze & { window: Window }

/** Those that hold runs at this time. */
export function inForce(freezes: readonly Freeze[], at: string): FreezeInForce[] {
  return freezes.flatMap((freeze) => {
    const window = windowAt(freeze, Date.parse(at))
    return window ? [{ ...freeze, window }] : []
  })
}
