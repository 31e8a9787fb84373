import { type RawBuilder, sql } from 'kysely'
import type { Database } from '#platform/database/connect.ts'
import type { OverriddenFreeze } from './decide-gate.ts'
import { type FreezeTimes, type Window, windowAt } from './freeze-windows.ts'

/** A freeze that covers an environment, as scheduling knows it. */
export type Freeze = FreezeTimes & {
  id: number
  whenOver: 'all' | 'latest'
  /** It covers every environment of the organization. */
  isOfOrganization: boolean
}

/** A JSON array of the freezes that cover an environment and are not over: an expression for a larger statement. */
export function freezesOf(environment: number | RawBuilder<unknown>): RawBuilder<Freeze[]> {
  const id = typeof environment === 'number' ? sql`${environment}::bigint` : environment
  return sql`(
    select coalesce(json_agg(json_build_object('id', f.id, 'starts_at', f.starts_at, 'ends_at', f.ends_at,
      'weekly', f.weekly, 'time_zone', f.time_zone, 'whenOver', f.when_over,
      'isOfOrganization', f.environment_id is null)), '[]')
    from freezes f
    where (f.environment_id = ${id} or f.environment_id is null and f.organization_id = (
        select p.organization_id from environments e join projects p on p.id = e.project_id
        where e.id = ${id}))
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

const milliseconds = (time: string) => sql.raw(`(extract(epoch from ${time}) * 1000)::bigint`)

/** What people let a run through: a JSON array, as an expression about a row `a` of `actions`. */
export const OVERRIDDEN_FREEZES: RawBuilder<OverriddenFreeze[]> = sql`coalesce((
  select json_agg(json_build_object('id', f.id, 'from', ${milliseconds('f.start')},
    'givenAt', ${milliseconds('o.created_at')}))
  from gate_overrides o cross join unnest(o.freeze_ids, o.freeze_starts) as f (id, start)
  where o.action_id = a.id and o.gate = 'freeze'), '[]')`

/** Whether one of these holds the run: the same decision as `freezesThatHold`, for many runs in one statement. */
export function isHeldByAny(freezes: readonly FreezeInForce[]): RawBuilder<boolean> {
  const ids = freezes.map(({ id }) => id)
  const starts = freezes.map(({ window }) => new Date(window.from).toISOString())
  return sql`(a.deployment ->> 'type' is distinct from 'rollback' and exists (
    select from unnest(${ids}::bigint[], ${starts}::timestamptz[]) as held (id, start)
    where not exists (
      select from gate_overrides o cross join unnest(o.freeze_ids, o.freeze_starts) as f (id, start)
      where o.action_id = a.id and o.gate = 'freeze' and f.id = held.id
        and coalesce(f.start = held.start, o.created_at >= held.start))))`
}
