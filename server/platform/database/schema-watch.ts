import { sql } from 'kysely'
import { compareReleases, VERSION } from '#platform/version.ts'
import type { Database } from './connect.ts'
import type { Listener } from './listen.ts'
import { MIGRATION_LOCK, migrationNames, readExecuted, SCHEMA_CHANNEL } from './migrate.ts'
import { newerGantry, schemaProblem } from './schema.ts'

/** When a process that was told to stop looks whether the migration is still coming: later than its notice ends. */
const RECHECK_MS = 10_000

/**
 * Tells a running process when the schema outgrows it: before a migration that it does not tolerate, and for good
 * after it. A migration that was announced and then failed lets it go on.
 */
export async function watchSchema(deps: {
  db: Database
  listener: Listener
  onChange: (problem: string | null) => void
  onError: (error: Error) => void
  release?: string
}) {
  const { db, listener, release = VERSION } = deps
  const known = migrationNames()
  let problem: string | null = null
  let timer: NodeJS.Timeout | undefined
  let isClosed = false

  function change(next: string | null): void {
    if (next === problem) return
    problem = next
    deps.onChange(problem)
  }

  async function check(): Promise<void> {
    clearTimeout(timer)
    try {
      const found = schemaProblem(await readExecuted(db), known, release)
      if (found !== null || problem === null || !(await isMigrating(db))) change(found)
    } catch (error) {
      deps.onError(error as Error)
    }
    if (problem !== null && !isClosed) recheckLater()
  }

  function recheckLater(): void {
    clearTimeout(timer)
    timer = setTimeout(() => void check(), RECHECK_MS)
    timer.unref()
  }

  await listener.subscribe(SCHEMA_CHANNEL, {
    onNotify(needed) {
      if (compareReleases(needed, release) <= 0) return
      change(newerGantry('It is being migrated.', needed, release))
      recheckLater()
    },
    onReconnect: () => void check(),
  })
  await check()
  return {
    /** Why this process must not work any more; null while it may. */
    problem: () => problem,
    close(): void {
      isClosed = true
      clearTimeout(timer)
    },
  }
}

async function isMigrating(db: Database): Promise<boolean> {
  const { rows } = await sql`select from pg_locks where locktype = 'advisory' and objsubid = 1
    and (classid::bigint << 32) | objid::bigint = ${sql.raw(MIGRATION_LOCK)}`.execute(db)
  return rows.length > 0
}
