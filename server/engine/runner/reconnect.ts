import { setTimeout as delay } from 'node:timers/promises'
import { noteContact, noteSilence } from '#engine/scheduling/detached-steps.ts'
import { retryOutage } from '#platform/database/outages.ts'
import { HandOver } from '#platform/queue/handler.ts'
import { loadRun, type StepDefinition } from './load-run.ts'
import { repeatAt } from './resume.ts'
import type { RunningTarget } from './running-target.ts'
import { failed, type StepOutcome } from './step.ts'
import { openStepLog } from './step-log.ts'

// A target whose connection was lost, or that another attempt left: it is `RECONNECTING` until the server can be reached, or
// for as long as the step may run on there.

/** How long Gantry waits beyond the lease: by then the server has ended everything. */
const BEYOND_LEASE_MS = 30_000
const [FIRST_PAUSE_MS, LONGEST_PAUSE_MS] = [250, 5_000]
/** A connection that breaks each time in the middle of a built-in step is not worth more. */
const MAX_REPEATS = 3

/** Runs a step until it has an outcome that no connection can change. `perform` runs, or follows, it once. */
export async function performPatiently(
  target: RunningTarget,
  step: StepDefinition,
  perform: () => Promise<StepOutcome>,
): Promise<StepOutcome> {
  for (let repeats = 0; ; ) {
    const outcome = await perform()
    if (target.interruption?.kind === 'left') await leave(target)
    if (!isLost(outcome) || !target.hasConnected || target.job.signal.aborted) return outcome
    if (!target.detached && !(repeats++ < MAX_REPEATS && isRepeatable(target, step))) return outcome
    const given = await reconnect(target, outcome)
    if (given) return given
  }
}

/** Whether a lost connection is all that is wrong with a step: then what it printed last is not the end of its log. */
export function willReconnect(target: RunningTarget, outcome: StepOutcome): boolean {
  return isLost(outcome) && target.hasConnected && target.detached !== null
}

/** The server itself has said that the lease is over, or that it is another one: nothing is to be waited for. */
function isLost(outcome: StepOutcome): boolean {
  return outcome.kind === 'failed' && outcome.reason === 'FAILED_UNREACHABLE' && !outcome.isFinal
}

function isRepeatable({ run: { steps, server } }: RunningTarget, step: StepDefinition): boolean {
  return server.kind === 'ssh' && step.builtIn && repeatAt(steps, steps.indexOf(step)) === step.order
}

/** This worker stops, and the step runs on: another attempt follows it. */
async function leave({ deps, job, attempt, detached }: RunningTarget): Promise<never> {
  if (detached) {
    const note = () => noteSilence(deps.db, detached.token, attempt.attempt, 0)
    await retryOutage(note, job.signal)
  }
  await retryOutage(() => attempt.setReconnecting(true), job.signal)
  throw new HandOver('The worker stops.')
}

/** Null: the server is connected again, under a new attempt number. Otherwise how the step ends. */
async function reconnect(target: RunningTarget, outcome: StepOutcome): Promise<StepOutcome | null> {
  const { deps, job, attempt, detached, interruption } = target
  const isRunning = detached !== null && detached.statePath !== null
  const isUnfollowed = interruption?.kind === 'lost' && interruption.silentMs === null
  const knownMs = interruption?.kind === 'lost' ? interruption.silentMs : isRunning ? null : 0
  if (knownMs !== null) target.silentSince = since(knownMs)
  // Connected, but not to the step: it counts from when that was followed last.
  target.silentSince ??= since(0)
  const silentMs = performance.now() - target.silentSince
  if (isRunning) {
    const note = () => noteSilence(deps.db, detached.token, attempt.attempt, silentMs)
    await retryOutage(note, job.signal)
  }
  await retryOutage(() => attempt.setReconnecting(true), job.signal)
  await disconnect(target)
  const waitMs = deps.reattachSeconds * 1_000 + BEYOND_LEASE_MS - silentMs
  // A step on the server ends with its lease, even when it is canceled; one that has not started ends here.
  const signal = AbortSignal.any([
    AbortSignal.timeout(Math.max(0, Math.ceil(waitMs))),
    job.signal,
    job.handOver,
    ...(isRunning ? [] : [attempt.cancelled]),
  ])
  let reason = outcome.kind === 'failed' ? outcome.message : null
  if (isUnfollowed) await delay(LONGEST_PAUSE_MS, undefined, { signal }).catch(() => {})
  for (let pauseMs = FIRST_PAUSE_MS; !signal.aborted; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
    const reached = await deps.reach(target.run.server, signal)
    if (!('kind' in reached)) {
      target.executor = reached
      await retryOutage(() => attempt.reattach(), job.signal)
      await noteConnected(target)
      await reload(target)
      return null
    }
    if (reached.kind === 'unreachable') reason = reached.message
    await delay(pauseMs, undefined, { signal }).catch(() => {})
  }
  if (job.signal.aborted) return { kind: 'stopped' }
  if (job.handOver.aborted) return leave(target)
  if (attempt.cancelled.aborted) return { kind: 'stopped' }
  await addLine(target, reason ?? 'The server could not be reached.')
  return failed('FAILED_UNREACHABLE', null, { isFinal: true })
}

const since = (ms: number) => performance.now() - ms

/** The server is there: the target runs again. */
export async function noteConnected(target: RunningTarget): Promise<void> {
  const { deps, job, attempt, detached } = target
  target.hasConnected = true
  if (!target.isReconnecting) return
  target.isReconnecting = false
  if (detached?.statePath != null)
    await retryOutage(() => noteContact(deps.db, detached.token, attempt.attempt), job.signal)
  await retryOutage(() => attempt.setReconnecting(false), job.signal)
}

async function disconnect(target: RunningTarget): Promise<void> {
  const { executor } = target
  target.executor = undefined
  target.detachedSteps = undefined
  target.isReconnecting = true
  await executor?.close()
}

/** What is not detached starts over, as in an attempt that continues a lost one. */
async function reload(target: RunningTarget): Promise<void> {
  const { deps, job, attempt } = target
  target.isResumed = true
  const run = await retryOutage(() => loadRun(deps.db, deps.box, attempt.targetId), job.signal)
  if ('kind' in run) throw new Error(run.message)
  target.run = run
}

async function addLine({ deps, job, attempt, step, newMasker }: RunningTarget, text: string): Promise<void> {
  const owner = { ...attempt, attempt: attempt.attempt, stepOrder: step!.order }
  const log = await openStepLog(deps.db, owner, newMasker, job.signal, { isEmpty: false })
  await log.line(text)
  await log.close()
}
