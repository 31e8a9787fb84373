// Which servers of an application differ from the others. Pure.
import type { LiveRelease } from '#web/base/api/types.ts'

type Served = Pick<LiveRelease, 'commit' | 'release_name' | 'state' | 'since'>

/** For each server: it serves another commit than most, or what it serves is unknown. */
export function findDrift(live: readonly Served[]): boolean[] {
  const common = mostCommon(live)
  return live.map((one) => one.state === 'unknown' || (one.state === 'known' && servedBy(one) !== common))
}

/** Releases whose commit is unknown are told apart by their names. */
const servedBy = ({ commit, release_name }: Served) => commit?.hash ?? release_name

/** What most servers serve; of several, what became live last. */
function mostCommon(live: readonly Served[]): string | null | undefined {
  const known = live.filter(({ state }) => state === 'known')
  const newestOf = (some: Served[]) => Math.max(...some.map(({ since }) => Date.parse(since ?? '') || 0))
  const [first] = [...Map.groupBy(known, servedBy)].toSorted(
    ([, one], [, other]) => other.length - one.length || newestOf(other) - newestOf(one),
  )
  return first?.[0]
}
