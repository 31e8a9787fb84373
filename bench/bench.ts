// The benchmarks: what Gantry does, timed against a baseline (the floor) in the same run, because absolute figures from
// a shared machine mean little. Each bench is one file; run.ts runs them, and the other files support them.
import type { Workbench } from './workbench.ts'

/** `smoke` proves in seconds that a bench works; its figures mean nothing. */
export type Size = 'full' | 'smoke'

export type Figure = {
  name: string
  value: number
  unit: string
  /** Our value divided by that of `floor`, both from this run. */
  ratio: number
  /** A name for the baseline, without spaces. */
  floor: string
  goal: Goal
  /** More for results.json; nothing depends on it. */
  details?: Record<string, unknown>
}

export type Goal = { of: 'value' | 'ratio'; is: 'at least' | 'at most'; limit: number }

export type Bench = (workbench: Workbench, size: Size) => Promise<Figure[]>

export function isReached({ goal, value, ratio }: Figure): boolean {
  const measured = goal.of === 'value' ? value : ratio
  return goal.is === 'at least' ? measured >= goal.limit : measured <= goal.limit
}

export function figureLine({ name, value, unit, ratio, floor }: Figure): string {
  return `${name} ${readable(value)} ${unit} ratio ${ratio.toFixed(2)} vs ${floor}`
}

export function missedLine({ name, goal, value, unit, ratio }: Figure): string {
  const measured = goal.of === 'value' ? `${readable(value)} ${unit}` : `ratio ${ratio.toFixed(2)}`
  const limit = goal.of === 'value' ? `${goal.limit} ${unit}` : `ratio ${goal.limit}`
  return `goal missed: ${name} is ${measured}, should be ${goal.is} ${limit}`
}

function readable(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toFixed(2)
}
