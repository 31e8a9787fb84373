// What the recent runs of a pipeline add up to. Pure.
import type { ActionListItem } from '#web/base/api/types.ts'
import { deployKind } from '#web/base/ui/status.ts'

export type Run = {
  id: number
  status: ActionListItem['status']
  /** Stopped by a person: says nothing about the pipeline. */
  isCanceled: boolean
  seconds: number | null
  /** `rollback` or `redeploy`. */
  kind?: string | undefined
}

type DatedRun = Run & { createdAt: string }

export function toRun(action: ActionListItem): DatedRun {
  const { id, status, status_reason_code: code, created_at: createdAt, started_at, completed_at } = action
  const seconds =
    started_at !== null && completed_at !== null
      ? (Date.parse(completed_at) - Date.parse(started_at)) / 1_000
      : null
  const isCanceled = code === 'FAILED_CANCELLED'
  return { id, status, isCanceled, seconds, createdAt, kind: deployKind(action) }
}

export function countFailed(runs: Run[]): number {
  return runs.filter(({ status, isCanceled }) => status === 'failed' && !isCanceled).length
}

/** Of completed and failed runs; null without any. Skipped and canceled runs say nothing about the pipeline. */
export function successRate(runs: Run[]): number | null {
  const ended = runs.filter(
    ({ status, isCanceled }) => status === 'completed' || (status === 'failed' && !isCanceled),
  )
  if (ended.length === 0) return null
  return ended.filter(({ status }) => status === 'completed').length / ended.length
}

export function median(values: number[]): number | null {
  if (values.length === 0) return null
  const sorted = values.toSorted((one, other) => one - other)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}
