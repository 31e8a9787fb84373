// Histories of an application's deployments, made up by playing them forward: what insights have to say about each is noted
// as it happens, and not computed from the records.
import { sql } from 'kysely'
import type { Database } from '#platform/database/connect.ts'
import type { ReasonCode } from '#platform/vocabulary.ts'
import type { DayRange, SwitchingRun } from '#views/insights/compute-insights.ts'
import type { Insights } from '#views/insights/schemas.ts'

export type GeneratedHistory = {
  runs: SwitchingRun[]
  range: DayRange
  expected: Omit<Insights, 'history_since'>
}

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** The same for the same seed. `until`: nothing happens after this time. */
export function generateHistory(seed: number, until = Date.parse('2026-11-18T12:00:00Z')): GeneratedHistory {
  const random = randomOf(seed)
  const below = (limit: number) => Math.floor(random() * limit)
  const chance = (share: number) => random() < share
  const oneOf = <Item>(items: readonly Item[]) => items[below(items.length)]!

  const servers = Array.from({ length: 1 + below(4) }, (_, index) => index + 1)
  const live = new Map<number, string>()
  const runs: SwitchingRun[] = []
  const deployments: { at: number; lead: number | null; failure: Failure | null }[] = []
  const noted = { rollbacks: [] as number[], reverts: [] as number[] }
  type Failure = { since: number; servers: number[]; restoredAt: number | null }
  /** The deployment that a rollback would undo. */
  let last: { first: number; servers: number[]; entry: (typeof deployments)[number] } | undefined
  let clock = until - 70 * DAY
  let commits = 0

  const fail = (entry: (typeof deployments)[number], since: number, on: number[]) => {
    entry.failure ??= { since, servers: on, restoredAt: null }
    return entry.failure
  }
  const restore = (at: number, isMeant: (failure: Failure) => boolean) => {
    for (const { failure } of deployments)
      if (failure && isMeant(failure)) failure.restoredAt = Math.min(failure.restoredAt ?? at, at)
  }

  while (true) {
    // Sometimes exactly at midnight.
    clock += chance(0.1) ? DAY - (clock % DAY) : (1 + below(40 * 60)) * MINUTE + below(60) * SECOND
    if (clock > until - 2 * HOUR) break
    const isRollback = commits > 0 && chance(0.2)
    const isRepeated = !isRollback && live.size > 0 && chance(0.15)
    const commit = isRepeated ? oneOf([...live.values()]) : `${isRollback ? 'back-' : ''}${++commits}`
    const chosen = chance(0.7) ? servers : servers.filter(() => chance(0.5))
    const on = chosen.length > 0 ? [...chosen] : [oneOf(servers)]
    const before = new Map(on.map((server) => [server, live.get(server)]))
    const first = clock
    let at = clock
    for (const server of on) {
      if (server !== on[0]) at += below(600) * SECOND
      live.set(server, commit)
    }
    const hasNewCommit = [...before.values()].some((earlier) => earlier !== commit)
    const isDeployment = !isRollback && hasNewCommit
    const ended = at + (1 + below(900)) * SECOND
    clock = ended
    const run: SwitchingRun = {
      actionId: runs.length + 1,
      applicationId: 1,
      isRollback,
      hasNewCommit,
      committedAt: chance(0.1) ? null : at - (chance(0.1) ? -below(3) * HOUR : below(20 * 24 * 60) * MINUTE),
      serverIds: on,
      revertedServerIds: [],
      firstActivatedAt: first,
      lastActivatedAt: at,
      revertedAt: null,
      result: 'COMPLETED',
      endedAt: ended,
    }
    runs.push(run)
    const entry = {
      at,
      lead: run.committedAt === null ? null : Math.max(0, at - run.committedAt),
      failure: null,
    }
    if (isDeployment) {
      deployments.push(entry)
      last = { first, servers: on, entry }
    }
    if (isRollback) noted.rollbacks.push(at)

    const revert = (some: readonly number[]) => {
      for (const server of some) {
        run.revertedAt = (run.revertedAt ?? at) + (1 + below(300)) * SECOND
        const earlier = before.get(server)
        if (earlier === undefined) live.delete(server)
        else live.set(server, earlier)
      }
      run.revertedServerIds = some
      noted.reverts.push(run.revertedAt!)
      run.endedAt = run.revertedAt! + MINUTE
      clock = run.endedAt
    }
    const end = (result: ReasonCode) => {
      run.result = result
    }

    // The last days go badly, so that some failures stay open.
    const kind = clock > until - 4 * DAY && chance(0.6) ? 0.68 + random() * 0.32 : random()
    const isUndone = kind >= 0.75 && kind < 0.85
    if (isRollback && last && !isUndone && last.servers.some((server) => on.includes(server)))
      fail(last.entry, last.first, last.servers)
    if (kind < 0.6) {
      if (isDeployment) restore(ended, (failure) => failure.restoredAt === null)
      if (isRollback)
        restore(
          ended,
          ({ restoredAt, servers: of }) => restoredAt === null && of.some((id) => on.includes(id)),
        )
    } else if (kind < 0.68) {
      // A step after the activation failed, or somebody canceled: neither says that the change was bad.
      end(oneOf(['FAILED', 'FAILED_CANCELLED', 'FAILED_TIMEOUT']))
    } else if (kind < 0.75) {
      end('FAILED_UNHEALTHY')
      if (isDeployment) fail(entry, first, on)
    } else if (kind < 0.85) {
      // The reason of the run may be that of another server, which it did not reach.
      end(oneOf(['FAILED_REVERTED', 'FAILED_REVERTED', 'FAILED_UNREACHABLE']))
      revert(on)
      if (isDeployment) fail(entry, first, on).restoredAt = run.revertedAt
    } else if (kind < 0.95) {
      end('FAILED_REVERT')
      const some = on.slice(1)
      if (some.length > 0) revert(some)
      if (isDeployment) fail(entry, first, on)
    } else if (clock > until - DAY) {
      run.result = null
      run.endedAt = null
      break
    } else if (isDeployment) restore(ended, (failure) => failure.restoredAt === null)
    else if (isRollback)
      restore(ended, ({ restoredAt, servers: of }) => restoredAt === null && of.some((id) => on.includes(id)))
  }

  const length = 1 + below(40)
  const from = Math.floor(until / DAY) + 1 - length - (chance(0.5) ? 0 : below(20))
  const range = { from: dateOf(from * DAY), to: dateOf((from + length - 1) * DAY) }
  const isIn = (time: number) => dateOf(time) >= range.from && dateOf(time) <= range.to
  const counted = deployments.filter((one) => isIn(one.at))
  const failures = counted.flatMap(({ failure }) => failure ?? [])
  const restored = failures.flatMap(({ since, restoredAt }) =>
    restoredAt === null ? [] : restoredAt - since,
  )
  const onDay = (times: number[], date: string) => times.filter((time) => dateOf(time) === date).length
  return {
    runs,
    range,
    expected: {
      ...range,
      deployments: { count: counted.length, per_day: Number((counted.length / length).toFixed(4)) },
      lead_time_seconds: quantiles(counted.flatMap(({ lead }) => lead ?? [])),
      change_failure: {
        failed: failures.length,
        rate: counted.length === 0 ? null : Number((failures.length / counted.length).toFixed(4)),
      },
      restore_seconds: { ...quantiles(restored), open: failures.length - restored.length },
      days: Array.from({ length }, (_, index) => {
        const date = dateOf((from + index) * DAY)
        return {
          date,
          deployments: onDay(
            deployments.map((one) => one.at),
            date,
          ),
          rollbacks: onDay(noted.rollbacks, date),
          reverts: onDay(noted.reverts, date),
        }
      }),
    },
  }
}

/** The smallest value that is not exceeded by that share of all. */
function quantiles(durations: number[]) {
  const seconds = durations.map((ms) => ms / SECOND)
  const reaching = (percent: number) =>
    seconds.filter((one) => seconds.filter((other) => other <= one).length * 100 >= seconds.length * percent)
  const least = (values: number[]) => (values.length === 0 ? null : Math.min(...values))
  return { p50: least(reaching(50)), p90: least(reaching(90)), samples: seconds.length }
}

const dateOf = (time: number) => new Date(time).toISOString().slice(0, 10)

/** mulberry32 */
function randomOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

let nextActionId = 1_000_000_000

/** As facts of an application; its runs are not stored, as if retention had removed them. */
export async function storeHistory(
  db: Database,
  { applicationId, environmentId }: { applicationId: number; environmentId: number },
  runs: readonly SwitchingRun[],
): Promise<void> {
  if (runs.length === 0) return
  const time = (at: number | null) => (at === null ? null : new Date(at).toISOString())
  await db
    .insertInto('deployments')
    .values(
      runs.map((run) => ({
        action_id: nextActionId++,
        application_id: applicationId,
        environment_id: environmentId,
        is_rollback: run.isRollback,
        commit_sha: null,
        committed_at: time(run.committedAt),
        has_new_commit: run.hasNewCommit,
        server_ids: sql<number[]>`${run.serverIds}::bigint[]`,
        reverted_server_ids: sql<number[]>`${run.revertedServerIds}::bigint[]`,
        first_activated_at: time(run.firstActivatedAt)!,
        last_activated_at: time(run.lastActivatedAt)!,
        reverted_at: time(run.revertedAt),
        result: run.result,
        ended_at: time(run.endedAt),
      })),
    )
    .execute()
}
