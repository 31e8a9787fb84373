import { oncePer } from '#platform/once-per.ts'
import { codeOf } from './error-code.ts'
import { OUTAGE_KINDS, OUTAGES, type OutageKind, outageKind } from './outage-kinds.ts'

/** A kind is logged again only after this time: thousands of statements may fail alike. */
const QUIET_MS = 60_000

export type DatabaseFailures = ReturnType<typeof createDatabaseFailures>

/** Counts the failures of the database by kind, for one process, and logs each kind with its remedy. */
export function createDatabaseFailures(
  log: { error(fields: object, message: string): void },
  now?: () => number,
) {
  const counts = Object.fromEntries(OUTAGE_KINDS.map((kind) => [kind, 0])) as Record<OutageKind, number>
  const isDue = oncePer(QUIET_MS, now)
  const recorded = new WeakSet<Error>()

  return {
    counts: (): Readonly<Record<OutageKind, number>> => counts,
    /** Any error of a statement or connection; those that say nothing about the database are not counted. */
    record(error: Error): void {
      const kind = outageKind(error)
      if (kind === null || recorded.has(error)) return
      recorded.add(error)
      counts[kind] += 1
      if (!isDue(kind)) return
      const { event, remedy } = OUTAGES[kind]
      const fields = {
        part: 'database',
        kind,
        code: codeOf(error),
        reason: error.message,
        count: counts[kind],
      }
      log.error(fields, `${event}; ${remedy[0]!.toLowerCase()}${remedy.slice(1)}`)
    },
  }
}
