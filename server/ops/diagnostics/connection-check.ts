import { sql } from 'kysely'
import type { Caller } from '#access/authorization/caller.ts'
import type { Database } from '#platform/database/connect.ts'
import { bounded } from './database-checks.ts'
import { counted, type Finding, type Named, namesOf, ok, warnings } from './run-checks.ts'

const MAX_HOOKS = 10_000

/** Hooks that their repositories may no longer call: webhooks that are not as they must be, and polls that fail. */
export async function checkConnections(db: Database, caller: Caller): Promise<Finding> {
  const hooks = await bounded(db, findUnconnected)
  const lost = hooks.filter(({ is_polled }) => !is_polled)
  const polled = hooks.filter(({ is_polled }) => is_polled)
  if (hooks.length === 0)
    return ok('Every connected repository has its webhook, and every polled one answers.')
  const describe = (some: typeof hooks, singular: string, plural: string) =>
    `${counted(some.length, 'hook')} ${some.length === 1 ? singular : plural}${namesOf(caller, 'hook:view', some)}.`
  return warnings([
    {
      about: lost,
      message: describe(
        lost,
        'is not connected to its repository',
        'are not connected to their repositories',
      ),
      remedy: 'The connection of the hook says what is wrong. Fix it, then repair the connection.',
    },
    {
      about: polled,
      message: describe(polled, 'cannot poll its repository', 'cannot poll their repositories'),
      remedy: 'The hook says why. Gantry keeps trying.',
    },
  ])
}

/** Longest first. */
async function findUnconnected(db: Database): Promise<(Named & { is_polled: boolean })[]> {
  const { rows } = await sql<Named & { is_polled: boolean }>`
    select h.name || coalesce(' of ' || a.name, '') as name, p.organization_id, e.project_id, h.environment_id, found.is_polled
    from (
      select hook_id, false as is_polled, checked_at as at from hook_connections
      where state not in ('connected', 'connecting')
      union all
      select hook_id, true, polled_at from hook_polls where problem is not null
    ) as found
    join hooks h on h.id = found.hook_id and h.active and h.deleted_at is null
    join pipelines pl on pl.id = h.pipeline_id left join applications a on a.id = pl.application_id
    join environments e on e.id = h.environment_id join projects p on p.id = e.project_id
    order by found.at, h.id limit ${MAX_HOOKS}`.execute(db)
  return rows
}
