import { sql } from 'kysely'
import type { Caller } from '#access/authorization/caller.ts'
import { findStalledEnvironments, STALLED_AFTER_SECONDS } from '#model/actions/stalled-environments.ts'
import type { Database } from '#platform/database/connect.ts'
import { bounded } from './database-checks.ts'
import { counted, type Named, namesOf } from './names.ts'
import { type Finding, failed, ok } from './run-checks.ts'

/** Environments where work waits and nothing completes. */
export async function checkEnvironments(db: Database, caller: Caller): Promise<Finding> {
  const stalled = await bounded(db, findStalled)
  if (stalled.length === 0) return ok('Work completes in every environment that has some.')
  return failed(
    `Work waits in ${counted(stalled.length, 'environment')}, and nothing has completed there for ${STALLED_AFTER_SECONDS / 60} minutes${namesOf(caller, 'environment:view', stalled)}.`,
    'Open a waiting run, which says what it waits for. Check that a worker is online, its log, and whether it names a lock ("waiting for a lock").',
  )
}

/** `Production (12 runs)` */
async function findStalled(db: Database): Promise<Named[]> {
  const stalled = await findStalledEnvironments(db)
  if (stalled.length === 0) return []
  const ids = stalled.map(({ environment_id }) => environment_id)
  const { rows } = await sql<Named>`
    select e.name, p.organization_id, e.project_id, e.id as environment_id
    from environments e join projects p on p.id = e.project_id where e.id = any(${ids}::bigint[])`.execute(db)
  const byId = new Map(rows.map((row) => [row.environment_id, row]))
  return stalled.flatMap(({ environment_id, waiting }) => {
    const found = byId.get(environment_id)
    return found ? [{ ...found, name: `${found.name} (${counted(waiting, 'run')})` }] : []
  })
}
