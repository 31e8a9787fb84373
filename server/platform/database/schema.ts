// Which migrations a database still needs, and whether this release may work with it at all. Pure.
import { compareReleases } from '#platform/version.ts'

export type Executed = {
  name: string
  /** The oldest release that works with this migration; null for those that releases before 0.2.0 ran. */
  tolerated_by: string | null
}

/** Throws when the database belongs to a newer Gantry. */
export function pendingMigrations(executed: readonly Executed[], known: readonly string[], release: string) {
  const problem = schemaProblem(executed, known, release)
  if (problem !== null) throw new Error(problem)
  const present = new Set(executed.map(({ name }) => name))
  return known.filter((name) => !present.has(name))
}

/**
 * Null while this release tolerates every migration that it does not know: the one before a rolling upgrade keeps
 * working, and may even be started again, until a migration says otherwise.
 */
export function schemaProblem(executed: readonly Executed[], known: readonly string[], release: string) {
  const names = new Set(known)
  const unknown = executed.filter(({ name }) => !names.has(name))
  const needed = unknown.filter(
    (one) => one.tolerated_by === null || compareReleases(one.tolerated_by, release) > 0,
  )
  if (needed.length === 0) return null
  const newest = needed
    .map(({ name }) => name)
    .sort()
    .at(-1)!
  return newerGantry(`It has the migration ${newest}.`, oldestThatTolerates(needed), release)
}

export function newerGantry(evidence: string, needed: string | null, release: string): string {
  const start = needed === null ? 'the release that migrated it' : `Gantry ${needed} or later`
  return `This database belongs to a newer Gantry than this one (${release}). ${evidence} Start ${start}, or restore a backup that this release made.`
}

/** The newest of the oldest releases; null when one does not say. */
export function oldestThatTolerates(migrations: readonly Pick<Executed, 'tolerated_by'>[]): string | null {
  const releases = migrations.map(({ tolerated_by }) => tolerated_by)
  if (releases.includes(null)) return null
  return (releases as string[]).sort(compareReleases).at(-1) ?? null
}
