// What this process did since it started: calls, runs, deliveries. Counted in memory, after the commit; the rooms that do
// the work call these functions.
import type { Registry } from 'prom-client'
import type { OnCall } from '#engine/incoming/receive-call.ts'
import { ATTEMPT_OUTCOMES } from '#engine/outgoing/record-attempt.ts'
import type { RecordedDelivery } from '#engine/outgoing/store-statement.ts'
import type { OnCheck } from '#engine/reconciling/reconcile.ts'
import type { OnMoves } from '#engine/scheduling/committed-moves.ts'
import { isEnd } from '#model/actions/status.ts'
import { STATUS_KINDS } from '#model/hooks/sent-status.ts'
import { REASONS, STATUSES } from '#platform/vocabulary.ts'
import { MAX_ORIGINS, metricsIn, OTHER } from './state-metrics.ts'

/** By result; the names are those of the outcomes in records of calls, where there are any. */
const VERDICTS: Record<Parameters<OnCall>[0], string> = {
  started: 'accepted',
  duplicate: 'duplicate',
  ping: 'ping',
  checks: 'checks',
  ignored: 'ignored',
  rejected_signature: 'rejected_signature',
  rate_limited: 'rate_limited',
  rejected_payload: 'rejected_payload',
  rejected_variables: 'rejected_variables',
  'cannot-run': 'rejected_state',
  'not-found': 'unknown_hook',
  failed: 'failed',
}

const ENDS = (Object.keys(STATUSES) as (keyof typeof STATUSES)[]).filter(isEnd)
/** A reason of an end begins with the end: FAILED_TIMEOUT. */
const ENDS_OF_RUNS = ENDS.flatMap((status) =>
  Object.keys(REASONS)
    .filter((reason) => reason.startsWith(status.toUpperCase()))
    .map((reason) => ({ status, reason })),
)
/** A delivery is superseded without an attempt. */
const OUTCOMES = ATTEMPT_OUTCOMES.filter((outcome) => outcome !== 'superseded')
const DELIVERY_ENDS = { delivered: 'delivered', failed: 'failed', unrecorded: 'failed', ignored: 'ignored' }
const CHECK_RESULTS: Record<Parameters<OnCheck>[0]['verdict'], string> = {
  matches: 'matches',
  repair: 'drift',
  'hides-newer': 'drift',
  overridden: 'overridden',
  unknown: 'unknown',
}

const FAST = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
const SLOW = [0.1, 0.5, 1, 5, 15, 30, 60, 120, 300, 600, 1_800, 3_600]

export function createWorkMetrics(registry: Registry) {
  const { counter, histogram } = metricsIn(registry)
  const calls = counter('hook_calls_total', 'Calls to hooks that this process answered, by verdict.', [
    'verdict',
  ])
  // Prepared, because calls come by the thousand.
  const byVerdict = new Map(
    Object.entries(VERDICTS).map(([result, verdict]) => [result, calls.labels({ verdict })]),
  )
  const callSeconds = histogram('hook_call_seconds', 'From a received call to its commit.', FAST)
  const started = counter('runs_started_total', 'Runs that this process started.')
  const ended = counter('runs_ended_total', 'Runs that this process ended, by status and reason.', [
    'status',
    'reason',
  ])
  const queued = histogram(
    'run_queue_seconds',
    'From the creation of a run to its start; without runs that follow another one.',
    SLOW,
  )
  const ran = histogram('run_seconds', 'From the start of a run to its end, by status.', SLOW, ['status'])
  const steps = counter('steps_ended_total', 'Steps that this process ended, by status.', ['status'])
  const passes = histogram(
    'scheduling_pass_seconds',
    "Transactions that schedule runs, waiting for the environment's lock included.",
    FAST,
  )
  const moves = counter('scheduling_moves_total', 'Status changes of runs and targets.', ['kind'])
  const attempts = counter('delivery_attempts_total', 'Delivery attempts of this process, by outcome.', [
    'outcome',
  ])
  const attemptSeconds = histogram('delivery_attempt_seconds', 'Requests to receivers.', FAST)
  const deliveries = counter('deliveries_ended_total', 'Deliveries that this process ended, by state.', [
    'state',
  ])
  const unrecorded = counter(
    'unrecorded_deliveries_total',
    'Deliveries that this process marked as failed because their attempt could not be stored.',
  )
  const checks = counter(
    'status_checks_total',
    'Commit statuses that this process read back, by preset and result: matches, drift, overridden, unknown.',
    ['kind', 'result'],
  )
  const repairs = counter(
    'status_repairs_total',
    'Commit statuses that this process sent again because the service showed another one, by preset.',
    ['kind'],
  )

  const pauses = counter(
    'rate_limit_pauses_total',
    'Pauses that services asked this process for because of their rate limit, by origin.',
    ['origin'],
  )
  const origins = new Set<string>()

  // From the start, so that the first one counts as an increase.
  for (const verdict of byVerdict.values()) verdict.inc(0)
  for (const labels of ENDS_OF_RUNS) ended.inc(labels, 0)
  for (const status of ['completed', 'failed'] as const) ran.zero({ status })
  for (const status of ENDS) steps.inc({ status }, 0)
  for (const kind of ['action', 'target']) moves.inc({ kind }, 0)
  for (const outcome of OUTCOMES) attempts.inc({ outcome }, 0)
  for (const state of Object.values(DELIVERY_ENDS)) deliveries.inc({ state }, 0)
  pauses.inc({ origin: OTHER }, 0)

  for (const kind of STATUS_KINDS) {
    for (const result of new Set(Object.values(CHECK_RESULTS))) checks.inc({ kind, result }, 0)
    repairs.inc({ kind }, 0)
  }

  const onCall: OnCall = (result, seconds) => {
    byVerdict.get(result)?.inc()
    callSeconds.observe(seconds)
  }

  const onMoves: OnMoves = (committed) => {
    if (committed.passes > 0) passes.observe(committed.seconds)
    if (committed.actions > 0) moves.inc({ kind: 'action' }, committed.actions)
    if (committed.targets > 0) moves.inc({ kind: 'target' }, committed.targets)
    for (const { queuedSeconds } of committed.started) {
      started.inc()
      if (queuedSeconds !== null) queued.observe(queuedSeconds)
    }
    for (const { status, reason, ranSeconds } of committed.ended) {
      ended.inc({ status, reason })
      if (ranSeconds !== null) ran.observe({ status }, ranSeconds)
    }
    for (const status of committed.endedSteps) steps.inc({ status })
  }

  const onPause = ({ origin }: { origin: string }): void => {
    if (origins.size < MAX_ORIGINS) origins.add(origin)
    pauses.inc({ origin: origins.has(origin) ? origin : OTHER })
  }

  const onAttempt = ({ next, record }: Pick<RecordedDelivery, 'next' | 'record'>): void => {
    if (record) attempts.inc({ outcome: record.outcome })
    if (record?.duration_ms != null) attemptSeconds.observe(record.duration_ms / 1_000)
    if (next.kind in DELIVERY_ENDS)
      deliveries.inc({ state: DELIVERY_ENDS[next.kind as keyof typeof DELIVERY_ENDS] })
    if (next.kind === 'unrecorded') unrecorded.inc()
  }

  const onCheck: OnCheck = ({ kind, verdict, wasRepaired }) => {
    checks.inc({ kind, result: CHECK_RESULTS[verdict] })
    if (wasRepaired) repairs.inc({ kind })
  }

  return { onCall, onMoves, onAttempt, onPause, onCheck }
}
