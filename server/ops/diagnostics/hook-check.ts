import { sql } from 'kysely'
import type { Caller } from '#access/authorization/caller.ts'
import type { Database } from '#platform/database/connect.ts'
import { bounded } from './database-checks.ts'
import { counted, type Finding, type Named, namesOf, ok, warnings } from './run-checks.ts'

const MAX_HOOKS = 10_000

/** Outgoing hooks whose receivers fail, and those that were switched off because of it. */
export async function checkHooks(db: Database, caller: Caller): Promise<Finding> {
  const hooks = await bounded(db, findFailing)
  const off = hooks.filter(({ is_off }) => is_off)
  const failing = hooks.filter(({ is_off }) => !is_off)
  if (hooks.length === 0) return ok('No outgoing hook is failing or was switched off.')
  const describe = (some: typeof hooks, what: string) =>
    `${counted(some.length, 'outgoing hook')} ${some.length === 1 ? 'is' : 'are'} ${what}${namesOf(caller, 'hook:view', some)}.`
  return warnings([
    {
      about: off,
      message: describe(off, 'switched off because the receiver kept failing'),
      remedy: 'Fix the receiver, then activate the hook again.',
    },
    {
      about: failing,
      message: describe(failing, 'failing'),
      remedy: 'The deliveries of a failing hook say what its receiver answers; Gantry keeps trying.',
    },
  ])
}

/** Longest first. */
async function findFailing(db: Database): Promise<(Named & { is_off: boolean })[]> {
  const { rows } = await sql<Named & { is_off: boolean }>`
    select h.name, p.organization_id, e.project_id, h.environment_id, h.disabled_at is not null as is_off
    from hooks h left join hook_health s on s.hook_id = h.id
    join environments e on e.id = h.environment_id join projects p on p.id = e.project_id
    where h.type = 'outgoing' and h.deleted_at is null
      and (h.disabled_at is not null or (h.active and (s.failing_since is not null or s.failures_in_a_row > 0)))
    order by coalesce(s.failing_since, h.disabled_at), h.id limit ${MAX_HOOKS}`.execute(db)
  return rows
}
