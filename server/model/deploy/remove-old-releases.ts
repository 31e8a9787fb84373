import { isReleaseName } from './layout.ts'

/**
 * What is on a server. A release that was never live is from a deploy that failed or still runs; one that was taken back
 * counts as never live.
 */
export type FoundReleases = NonNullable<ReturnType<typeof readReleases>>

/** The output of `listReleases`. Undefined: it is not complete. Other lines are ignored. */
export function readReleases(output: string) {
  const lines = output.split('\n')
  if (!lines.includes('gantry-releases-end')) return undefined
  const found = lines.flatMap((line) => {
    const [word, name, state, ...rest] = line.split(' ')
    const isOurs = word === 'gantry-release' && rest.length === 0 && isReleaseName(name ?? '')
    return isOurs ? [{ name: name!, state }] : []
  })
  const before = lines.find((line) => line.startsWith(BEFORE))?.slice(BEFORE.length)
  return {
    releases: found.map(({ name, state }) => ({
      name,
      wasLive: state === 'live' || state === 'was-live',
      isReverted: state === 'reverted',
    })),
    live: found.find(({ state }) => state === 'live')?.name ?? null,
    /** What was live before the live one. */
    before: before !== undefined && isReleaseName(before) ? before : null,
    /** An attempt was interrupted while it removed releases. */
    hasLeftovers: lines.includes('gantry-leftovers'),
  }
}

const BEFORE = 'gantry-before '

/**
 * Whether a rollback can switch to the release as it is. Call it after `takeLock`: only then it stays. One that
 * was never live may be incomplete, and one that was taken back is broken.
 */
export function canActivateAgain(found: FoundReleases, release: string): boolean {
  return found.releases.some(({ name, wasLive }) => name === release && wasLive)
}

/**
 * Keeps `keep` releases: first the live one whatever its age, then the newest that have been live, for rollbacks,
 * then those of failed deploys, and last those that were taken back. The one that was live before the live one stays in
 * any case: a deploy may have to go back to it. Oldest first.
 */
export function releasesToRemove(
  { releases, live, before }: Omit<FoundReleases, 'hasLeftovers'>,
  keep: number,
): string[] {
  const rank = (one: FoundReleases['releases'][number]) =>
    one.name === live ? 3 : one.wasLive ? 2 : one.isReverted ? 0 : 1
  return releases
    .filter(({ name }) => isReleaseName(name))
    .toSorted((a, b) => rank(b) - rank(a) || (a.name < b.name ? 1 : -1))
    .slice(Math.max(keep, 1))
    .map(({ name }) => name)
    .filter((name) => name !== before)
    .sort()
}

/** What `removeReleases` has removed, as it printed. */
export function readRemoved(output: string): string[] {
  return [...output.matchAll(/^Removed: (\S+)$/gm)].flatMap(([, name]) => (isReleaseName(name!) ? name! : []))
}
