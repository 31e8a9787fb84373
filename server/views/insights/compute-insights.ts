// The insights room: how often an application or environment is deployed, how long a commit takes to get there, how many
// deployments fail, and how long until that is over. Computed here, from what model/live records of every run that
// switched a server. Definitions: docs/guides/insights.md.
import type { ReasonCode } from '#platform/vocabulary.ts'

/** A run that switched at least one server. Times are in milliseconds, by the clock of the database. */
export type SwitchingRun = {
  actionId: number
  applicationId: number
  isRollback: boolean
  /** At least one server served another commit before. */
  hasNewCommit: boolean
  /** By the committer's clock; null when unknown. */
  committedAt: number | null
  serverIds: readonly number[]
  revertedServerIds: readonly number[]
  firstActivatedAt: number
  lastActivatedAt: number
  /** The last revert. */
  revertedAt: number | null
  /** The reason with which the run ended, and when; null until then. */
  result: ReasonCode | null
  endedAt: number | null
}

/** Days in UTC, such as 2026-11-18, both included. */
export type DayRange = { from: string; to: string }

export type Percentiles = { p50: number | null; p90: number | null; samples: number }

const FAILED: ReadonlySet<string | null> = new Set(['FAILED_REVERTED', 'FAILED_REVERT', 'FAILED_UNHEALTHY'])

/**
 * `runs`: all of the range, and what came after it until every application had a healthy deployment again. Earlier and later
 * ones do no harm.
 */
export function computeInsights(runs: readonly SwitchingRun[], range: DayRange) {
  const isIn = (time: number) => isInRange(time, range)
  const judged = [...Map.groupBy(runs, (run) => run.applicationId).values()]
    .flatMap(judgeDeployments)
    .filter(({ run }) => isIn(run.lastActivatedAt))
  const failed = judged.filter(({ isFailed }) => isFailed)
  const restores = failed.flatMap(({ run, restoredAt }) =>
    restoredAt === null ? [] : restoredAt - run.firstActivatedAt,
  )
  const leads = judged.flatMap(({ run }) =>
    run.committedAt === null ? [] : run.lastActivatedAt - run.committedAt,
  )
  const days = listDays(range)
  return {
    ...range,
    deployments: { count: judged.length, per_day: rounded(judged.length / days.length) },
    lead_time_seconds: percentilesOf(leads),
    change_failure: {
      failed: failed.length,
      rate: judged.length === 0 ? null : rounded(failed.length / judged.length),
    },
    restore_seconds: { ...percentilesOf(restores), open: failed.length - restores.length },
    days: countDays(days, {
      deployments: judged.map(({ run }) => run.lastActivatedAt),
      rollbacks: runs.filter(({ isRollback }) => isRollback).map((run) => run.lastActivatedAt),
      reverts: runs.flatMap(({ revertedAt }) => revertedAt ?? []),
    }),
  }
}

type Judged = { run: SwitchingRun; isFailed: boolean; restoredAt: number | null }

/** The deployments among the runs of one application. */
function judgeDeployments(runs: readonly SwitchingRun[]): Judged[] {
  const sorted = runs.toSorted(
    (one, other) => one.lastActivatedAt - other.lastActivatedAt || one.actionId - other.actionId,
  )
  return sorted.flatMap((run, index) => {
    if (!isDeployment(run)) return []
    const isFailed =
      FAILED.has(run.result) || run.revertedServerIds.length > 0 || isRolledBackBeforeNext(sorted, index)
    return { run, isFailed, restoredAt: isFailed ? findRestore(sorted, index) : null }
  })
}

function isDeployment({ isRollback, hasNewCommit }: SwitchingRun): boolean {
  return !isRollback && hasNewCommit
}

/** The run at `index`, among those of its application in the order of their last activation. */
function isRolledBackBeforeNext(sorted: readonly SwitchingRun[], index: number): boolean {
  const run = sorted[index]!
  for (let next = index + 1; next < sorted.length; next++) {
    const one = sorted[next]!
    if (isDeployment(one)) return false
    if (rollsBack(one, run) && !isRevertedEverywhere(one)) return true
  }
  return false
}

/** Whether a later run is a rollback of a server that the deployment had switched. */
function rollsBack(one: SwitchingRun, { serverIds }: SwitchingRun): boolean {
  return one.isRollback && one.serverIds.some((id) => serverIds.includes(id))
}

function isRevertedEverywhere({ serverIds, revertedServerIds }: SwitchingRun): boolean {
  return serverIds.every((id) => revertedServerIds.includes(id))
}

/** When the revert, a rollback or a healthy deployment was complete: the first of them; null when none is. */
function findRestore(sorted: readonly SwitchingRun[], index: number): number | null {
  const run = sorted[index]!
  let restoredAt = isRevertedEverywhere(run) ? run.revertedAt : null
  for (let next = index + 1; next < sorted.length; next++) {
    const one = sorted[next]!
    if (restoredAt !== null && one.lastActivatedAt > restoredAt) break
    if (one.result !== 'COMPLETED' || !(isDeployment(one) || rollsBack(one, run))) continue
    restoredAt = Math.min(restoredAt ?? one.endedAt!, one.endedAt!)
  }
  return restoredAt
}

/** In whole seconds, by nearest rank. Clocks differ: what seems to take less than no time took none. */
function percentilesOf(durations: readonly number[]): Percentiles {
  const sorted = durations.map((ms) => Math.max(0, Math.round(ms / 1_000))).sort((a, b) => a - b)
  const at = (percent: number) => sorted[Math.ceil((sorted.length * percent) / 100) - 1] ?? null
  return { p50: at(50), p90: at(90), samples: sorted.length }
}

const DAY_MS = 24 * 60 * 60 * 1_000

function countDays<Kind extends string>(days: readonly string[], times: Record<Kind, readonly number[]>) {
  const counted = Object.entries<readonly number[]>(times).map(
    ([kind, all]) => [kind, Map.groupBy(all, dayOf)] as const,
  )
  return days.map((date) => {
    const counts = counted.map(([kind, byDay]) => [kind, byDay.get(date)?.length ?? 0])
    return { date, ...(Object.fromEntries(counts) as Record<Kind, number>) }
  })
}

function listDays({ from, to }: DayRange): string[] {
  const length = Math.round((Date.parse(to) - Date.parse(from)) / DAY_MS) + 1
  return Array.from({ length }, (_, index) => dayOf(Date.parse(from) + index * DAY_MS))
}

function isInRange(time: number, { from, to }: DayRange): boolean {
  return time >= Date.parse(from) && time < Date.parse(to) + DAY_MS
}

function dayOf(time: number): string {
  return new Date(time).toISOString().slice(0, 10)
}

function rounded(value: number): number {
  return Math.round(value * 10_000) / 10_000
}
