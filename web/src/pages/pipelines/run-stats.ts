// What the recent runs of a pipeline add up to. Pure.
import type { ActionListItem } from '#web/base/api/types.ts'

export type Run = { id: number; status: ActionListItem['status']; seconds: number | null }

type DatedRun = Run & { createdAt: string }

export function toRun(action: ActionListItem): DatedRun {
  const { id, status, created_at: createdAt, started_at, completed_at } = action
  const seconds =
    started_at !== null && completed_at !== null
      ? (Date.parse(completed_at) - Date.parse(started_at)) / 1_000
      : null
  return { id, status, seconds, createdAt }
}

/** Of completed and failed runs; null without any. Skipped runs say nothing about the pipeline. */
export function successRate(runs: Run[]): number | null {
  const ended = runs.filter(({ status }) => status === 'completed' || status === 'failed')
  if (ended.length === 0) return null
  return ended.filter(({ status }) => status === 'completed').length / ended.length
}

export function median(values: number[]): number | null {
  if (values.length === 0) return null
  const sorted = values.toSorted((one, other) => one - other)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}
