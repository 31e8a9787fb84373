import { readFileSync } from 'node:fs'

/** The running release. */
export const VERSION: string = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
).version

/** Below zero when `one` is the older release. Pure; what follows a hyphen does not count. */
export function compareReleases(one: string, other: string): number {
  const [mine, theirs] = [parts(one), parts(other)]
  const index = mine.findIndex((part, at) => part !== theirs[at])
  return index === -1 ? 0 : mine[index]! - theirs[index]!
}

function parts(release: string): number[] {
  const [numbers = ''] = release.split(/[-+]/)
  return [0, 1, 2].map((at) => Number(numbers.split('.')[at] ?? 0))
}
