// How long each step took in the last runs. Pure.
import type { ActionListItem } from '#web/base/api/types.ts'
import { median } from './run-stats.ts'

export type StepDurations = {
  /** The name of the step. */
  id: string
  /** Oldest run first: the slowest server of each, in seconds; null where it did not complete. */
  seconds: (number | null)[]
  runs: number[]
  median: number | null
  last: number | null
}

type Run = Pick<ActionListItem, 'id' | 'targets'>

/** Runs come newest first. Steps are in the order of the newest run that has them. */
export function toStepDurations(runs: readonly Run[]): StepDurations[] {
  const names = [
    ...new Set(runs.flatMap(({ targets }) => targets.flatMap(({ steps }) => steps.map(({ name }) => name)))),
  ]
  const oldestFirst = runs.toReversed()
  return names.map((name) => {
    const seconds = oldestFirst.map((run) => slowest(run, name))
    const known = seconds.filter((one) => one !== null)
    return {
      id: name,
      seconds,
      runs: oldestFirst.map(({ id }) => id),
      median: median(known),
      last: known.at(-1) ?? null,
    }
  })
}

function slowest({ targets }: Run, name: string): number | null {
  const all = targets.flatMap(({ steps }) =>
    steps.flatMap(({ name: one, status, started_at, completed_at }) =>
      one === name && status === 'completed' && started_at && completed_at
        ? [(Date.parse(completed_at) - Date.parse(started_at)) / 1_000]
        : [],
    ),
  )
  return all.length === 0 ? null : Math.max(...all)
}
