export type OrderedStep = { known_as: number; name: string }

/** What people said with `trigger_after`: a name, an id, or null for the first place. */
export type After = string | number | null

export type StepOrder<Step> =
  | { kind: 'placed'; steps: Step[] }
  | { kind: 'unknown' }
  | { kind: 'after-itself' }

/** The steps in their new order, with one of them, old or new, put behind another. Pure. */
export function moveStep<Step extends OrderedStep>(
  steps: readonly Step[],
  moved: Step,
  after: After,
): StepOrder<Step> {
  const isMeant = ({ known_as, name }: OrderedStep) =>
    typeof after === 'number' ? known_as === after : name === after
  if (after !== null && isMeant(moved)) return { kind: 'after-itself' }
  const others = steps.filter(({ known_as }) => known_as !== moved.known_as)
  const index = after === null ? 0 : others.findIndex(isMeant) + 1
  if (after !== null && index === 0) return { kind: 'unknown' }
  return { kind: 'placed', steps: others.toSpliced(index, 0, moved) }
}
