import { moveStep } from '#model/pipelines/steps.ts'

// In which order pipelines and steps come. Pure.

export type Sorted = { kind: 'sorted'; keys: string[] } | { kind: 'circle'; keys: string[] }

/** Each after all that it runs after; or the first circle that is found, each after the next. */
export function sortByAfter(after: ReadonlyMap<string, readonly string[]>): Sorted {
  const done = new Set<string>()
  const trail: string[] = []

  function walk(key: string): string[] | undefined {
    const at = trail.indexOf(key)
    if (at !== -1) return [...trail.slice(at), key]
    if (done.has(key)) return undefined
    trail.push(key)
    for (const next of after.get(key) ?? []) {
      const circle = walk(next)
      if (circle) return circle
    }
    trail.pop()
    done.add(key)
    return undefined
  }

  for (const key of after.keys()) {
    const circle = walk(key)
    if (circle) return { kind: 'circle', keys: circle }
  }
  return { kind: 'sorted', keys: [...done] }
}

export type WantedStep = {
  name: string /** Undefined: wherever the one above it puts it. */
  trigger_after?: string | null
}

/** Behind which step it stands, null: it is the first; undefined: it is not there yet. */
export type Move = { before: string | null | undefined; after: string | null }

export type PlacedSteps = {
  /** The steps that have to be put somewhere else than they are, or are new: behind which one each goes. */
  moves: Map<string, Move>
  /** Steps that are to follow one that is not there, or not yet. */
  lost: Set<string>
}

/**
 * `today`: the names of the steps as they are, without those that go. First those of the list are put where the
 * list says; then each that is not there already is moved, from the front to the back, so that every move is right
 * for good.
 */
export function placeSteps(today: readonly string[], wanted: readonly WantedStep[]): PlacedSteps {
  const named = new Set(wanted.map(({ name }) => name))
  const lost = new Set<string>()
  let order = today.filter((name) => !named.has(name))
  let above: string | undefined
  for (const { name, trigger_after } of wanted) {
    const after = trigger_after === undefined ? (above ?? order.at(-1) ?? null) : trigger_after
    const isThere = after === null || order.includes(after)
    if (!isThere) lost.add(name)
    order = putAfter(order, name, isThere ? after : (order.at(-1) ?? null))
    above = name
  }
  const moves = new Map<string, Move>()
  let now = [...today]
  order.forEach((name, index) => {
    const after = order[index - 1] ?? null
    const place = now.indexOf(name)
    const before = place === -1 ? undefined : (now[place - 1] ?? null)
    if (!named.has(name) || before === after) return
    moves.set(name, { before, after })
    now = putAfter(now, name, after)
  })
  return { moves, lost }
}

function putAfter(order: readonly string[], name: string, after: string | null): string[] {
  const steps = order.map((one) => ({ stepKey: one, name: one }))
  const placed = moveStep<{ stepKey: never; name: string }>(
    steps as never,
    { stepKey: name as never, name },
    after,
  )
  return placed.kind === 'placed' ? placed.steps.map((step) => step.name) : [...order]
}
