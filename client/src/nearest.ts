// Which known name a person probably meant.

/** More would only slow the comparison down: no name is that long. */
const MAX_LENGTH = 256

/** The known name that is a typo away: up to two letters, fewer in a short word. Pure. */
export function closest(name: string, known: readonly string[]): string | undefined {
  const allowed = Math.min(2, Math.floor(name.length / 3))
  const [best] = rank(name, known)
  return best && best.distance <= allowed ? best.name : undefined
}

/** The most similar known names, best first; unlike `closest`, however different they are. Pure. */
export function nearest(name: string, known: readonly string[], count: number): string[] {
  return rank(name, known)
    .slice(0, count)
    .map((one) => one.name)
}

function rank(name: string, known: readonly string[]): { name: string; distance: number }[] {
  const given = name.slice(0, MAX_LENGTH).toLowerCase()
  return known
    .map((one) => ({ name: one, distance: distance(given, one.toLowerCase()) }))
    .sort((one, two) => one.distance - two.distance)
}

/** How many letters have to be added, removed or replaced. */
export function distance(one: string, two: string): number {
  let row = Array.from({ length: two.length + 1 }, (_, index) => index)
  for (let at = 1; at <= one.length; at += 1) {
    const next = [at]
    for (let to = 1; to <= two.length; to += 1) {
      const changed = row[to - 1]! + (one[at - 1] === two[to - 1] ? 0 : 1)
      next.push(Math.min(changed, row[to]! + 1, next[to - 1]! + 1))
    }
    row = next
  }
  return row[two.length]!
}
