// Where a step goes when a person moves it. The API takes the step that it follows; people never type that. Pure.

type Ordered = { id: number; name?: string; built_in?: boolean }

/** It follows from the health check, and nothing goes between it and the step after it. */
export function isHealthStep({ name, built_in }: Ordered): boolean {
  return built_in === true && name === 'check-health'
}

/** `to` is its index among all steps afterward. */
export function moveStep<Step extends Ordered>(steps: readonly Step[], id: number, to: number): Step[] {
  const from = steps.findIndex((step) => step.id === id)
  if (from === -1) return [...steps]
  const target = Math.min(Math.max(to, 0), steps.length - 1)
  const others = steps.toSpliced(from, 1)
  const isBehindCheck = target > 0 && isHealthStep(others[target - 1]!)
  const free = isBehindCheck ? target + (target > from ? 1 : -1) : target
  return others.toSpliced(free, 0, steps[from]!)
}

/** `trigger_after` of a step in this order; null for the first one. */
export function precedingId(steps: readonly Ordered[], id: number): number | null {
  const index = steps.findIndex((step) => step.id === id)
  return steps[index - 1]?.id ?? null
}

/** Where a new step goes: behind the step with this id, first, or last. */
export type NewPosition = number | 'first' | 'last'

/** `trigger_after` of a new step; undefined lets the API append it, also behind steps that this page does not know. */
export function triggerAfter(position: NewPosition): number | null | undefined {
  if (position === 'first') return null
  return position === 'last' ? undefined : position
}

/** The position before a step. */
export function positionBefore(steps: readonly Ordered[], id: number): NewPosition {
  const before = steps.find((step) => step.id === precedingId(steps, id))
  if (!before) return 'first'
  return isHealthStep(before) ? positionBefore(steps, before.id) : before.id
}

/** The index at which the form of a new step is shown. */
export function indexOfNew(steps: readonly Ordered[], position: NewPosition): number {
  if (position === 'first') return 0
  const index = position === 'last' ? -1 : steps.findIndex(({ id }) => id === position)
  return index === -1 ? steps.length : index + 1
}
