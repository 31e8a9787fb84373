/** A set of positive integers: inclusive ranges in ascending order, none touching the next. */
export type Ranges = readonly (readonly [from: number, to: number])[]

/** Ids and positions are lower than this; a range that ends here is open-ended. */
export const NO_END = Number.MAX_SAFE_INTEGER

export const EVERYTHING: Ranges = [[1, NO_END]]

export function includes(ranges: Ranges, number: number): boolean {
  return ranges.some(([from, to]) => from <= number && number <= to)
}

/** What is in both. */
export function overlap(one: Ranges, other: Ranges): Ranges {
  const both: [number, number][] = []
  let [left, right] = [0, 0]
  while (left < one.length && right < other.length) {
    const [oneFrom, oneTo] = one[left]!
    const [otherFrom, otherTo] = other[right]!
    const [from, to] = [Math.max(oneFrom, otherFrom), Math.min(oneTo, otherTo)]
    if (from <= to) both.push([from, to])
    if (oneTo < otherTo) left++
    else right++
  }
  return both
}

/** What is in the first and not in the second. */
export function minus(ranges: Ranges, removed: Ranges): Ranges {
  return removed.length === 0 ? ranges : overlap(ranges, complement(removed))
}

export function without(ranges: Ranges, number: number): Ranges {
  return minus(ranges, [[number, number]])
}

function complement(ranges: Ranges): Ranges {
  const rest: [number, number][] = []
  let next = 1
  for (const [from, to] of ranges) {
    if (next < from) rest.push([next, from - 1])
    next = to + 1
  }
  if (next <= NO_END) rest.push([next, NO_END])
  return rest
}
