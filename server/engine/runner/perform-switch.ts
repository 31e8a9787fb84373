import { setTimeout as delay } from 'node:timers/promises'
import type { Executor } from '#adapters/executors/executor.ts'
import { readVersion } from '#model/live/live-record.ts'
import { type Settled, settle } from '#model/live/settle.ts'
import { isSwitch } from '#model/pipelines/built-in-steps.ts'
import { retryOutage } from '#platform/database/outages.ts'
import { afterSettling, type Interruption } from './after-settling.ts'
import type { StepDefinition } from './load-run.ts'
import { describeRelease, diskOf, markLive, markReverted, markUnknown } from './mark-live.ts'
import type { RunningTarget, StepResult } from './running-target.ts'
import { baseOf, DONE, failed, runIdOf, type StepOutcome } from './step.ts'
import { openStepLog, type StepLog } from './step-log.ts'

// The steps that switch `current`. When one ends without an outcome, what the server serves is found out before anything
// else happens: it decides whether the run continues, and with what.

/** How long a server may be unreachable before it counts as unknown. */
const CONNECT_MS = 30_000
const RECONNECT_PAUSE_MS = 1_000
/** A connection that breaks each time in the middle of the switch is not worth more. */
const MAX_REPEATS = 3

type SwitchStep = StepDefinition & { name: 'activate-new-release' | 'revert-release' }

export function isSwitchStep(step: StepDefinition): step is SwitchStep {
  return step.builtIn && isSwitch(step.name)
}

/** `perform` runs the step once. */
export async function performSwitch(
  target: RunningTarget,
  step: SwitchStep,
  perform: () => Promise<StepOutcome>,
): Promise<StepResult> {
  const { job, attempt } = target
  const isBlindRevert = step.name === 'revert-release' && target.run.liveBefore === null
  let interruption: Interruption | null = target.hasInterruptedSwitch || isBlindRevert ? 'worker' : null
  let outcome: StepOutcome | undefined
  target.hasInterruptedSwitch = false
  for (let repeats = 0; ; repeats++) {
    if (interruption === null) {
      outcome = await perform()
      if (outcome.kind === 'done') return done(target, step)
      if (!target.executor) return { outcome }
      if (job.signal.aborted) return interrupted(target, outcome)
      interruption = interruptionOf(target, outcome)
    }
    const withinMs = isBlindRevert ? step.timeoutSeconds * 1_000 : CONNECT_MS
    const { found, isReached } = await settleSwitch(target, step, { interruption, withinMs })
    if (job.signal.aborted) return interrupted(target, { kind: 'stopped' })
    const before = target.run.liveBefore?.release ?? null
    // Reverting is not canceled.
    const isCanceled = step.name === 'activate-new-release' && attempt.cancelled.aborted
    if (isCanceled) [interruption, outcome] = ['cancellation', { kind: 'stopped' }]
    const next = afterSettling(step.name, interruption, found, isBlindRevert ? null : before)
    outcome ??= failed(isReached ? 'FAILED_WORKER_LOST' : 'FAILED_UNREACHABLE', null)
    await rememberBefore(target, step, found)
    if (next === 'complete') return done(target, step)
    if (next === 'end-activated') return { outcome, alongside: (trx) => markLive(trx, target.run) }
    if (found.kind === 'unknown') {
      const { reason } = found
      return { outcome, alongside: (trx) => markUnknown(trx, target.run, reason) }
    }
    if (next === 'end' || repeats >= MAX_REPEATS) return { outcome }
    interruption = null
  }
}

function done({ run }: RunningTarget, { name }: SwitchStep): StepResult {
  const mark = name === 'activate-new-release' ? markLive : markReverted
  return { outcome: DONE, alongside: (trx) => mark(trx, run) }
}

/** There is no time left. Another attempt settles first; if there is none, what is live is not known. */
function interrupted({ run }: RunningTarget, outcome: StepOutcome): StepResult {
  return { outcome, alongside: (trx) => markUnknown(trx, run, 'The worker stopped during the switch.') }
}

function interruptionOf({ attempt }: RunningTarget, outcome: StepOutcome): Interruption {
  if (outcome.kind === 'stopped' || attempt.cancelled.aborted) return 'cancellation'
  return outcome.kind === 'failed' && outcome.reason === 'FAILED_UNREACHABLE' ? 'connection' : 'failure'
}

/** What the run replaced, or what it reverts to. */
async function rememberBefore(target: RunningTarget, step: SwitchStep, found: Settled): Promise<void> {
  const { run, deps, job } = target
  const isRevert = step.name === 'revert-release'
  if (isRevert && run.liveBefore !== null) return
  const release =
    found.kind === 'this-run'
      ? found.before
      : isRevert && found.kind === 'other'
        ? found.releaseName
        : undefined
  if (release === undefined) return
  const describe = () => deps.db.transaction().execute((trx) => describeRelease(trx, run, release))
  run.liveBefore = await retryOutage(describe, job.signal)
}

/** Finds out what the server serves, and says so in the log of the step. */
async function settleSwitch(
  target: RunningTarget,
  step: SwitchStep,
  { interruption, withinMs }: { interruption: Interruption; withinMs: number },
): Promise<{ found: Settled; isReached: boolean }> {
  const { deps, job, attempt, newMasker } = target
  await retryOutage(() => attempt.raise(), job.signal)
  const owner = { ...attempt, attempt: attempt.attempt, stepOrder: step.order }
  const log = await openStepLog(deps.db, owner, newMasker, job.signal, { isEmpty: false })
  try {
    await log.line(STARTS[interruption])
    if (interruption === 'connection') await disconnect(target)
    for (let repeats = 0; ; repeats++) {
      const ms = repeats === 0 ? withinMs : CONNECT_MS
      const reached = target.executor ?? (await connectWithin(target, log, interruption, ms))
      if ('kind' in reached) {
        const found = { kind: 'unknown' as const, reason: reached.reason }
        await log.line(describe(found))
        return { found, isReached: false }
      }
      target.executor = reached
      const found = await ask(target, reached)
      // The connection that the switch was sent over may have been dead since then.
      const asksAgain = found.kind === 'unknown' && found.isLost && interruption !== 'cancellation'
      if (!asksAgain || repeats >= MAX_REPEATS || job.signal.aborted) {
        await log.line(describe(found))
        return { found, isReached: true }
      }
      await log.line(`${found.reason} Connecting again.`)
      await disconnect(target)
    }
  } finally {
    await log.close()
  }
}

async function ask({ deps, job, run, attempt }: RunningTarget, executor: Executor): Promise<Settled> {
  const [disk, base] = [diskOf(run), baseOf(run)]
  run.liveVersion = await retryOutage(() => readVersion(deps.db, disk), job.signal)
  const { targetId } = run
  const owner = { targetId, run: runIdOf(run), attempt: attempt.attempt, isRunning: true }
  return settle(deps.db, executor, { disk, base, ...owner }, job.signal)
}

const STARTS: Record<Interruption, string> = {
  connection: 'The connection was lost during the switch. Checking what is live.',
  worker: 'Checking what is live: an earlier attempt may have switched.',
  failure: 'Checking what is live.',
  cancellation: 'Canceled during the switch. Checking what is live.',
}

function describe(found: Settled): string {
  switch (found.kind) {
    case 'this-run':
      return `Live now: ${found.releaseName}, the release of this run.`
    case 'other':
      return `Live now: ${found.releaseName}.`
    case 'nothing':
      return 'Nothing is live on this server.'
    case 'unknown':
      return `The live release of this server is unknown: ${found.reason} Gantry keeps checking.`
  }
}

async function disconnect(target: RunningTarget): Promise<void> {
  const { executor } = target
  target.executor = undefined
  await executor?.close()
}

async function connectWithin(
  { deps, job, run, attempt }: RunningTarget,
  log: StepLog,
  interruption: Interruption,
  withinMs: number,
): Promise<Executor | { kind: 'unreached'; reason: string }> {
  const until = performance.now() + withinMs
  // A person who cancels does not wait for a server that is gone; what it serves is found out later.
  const canCancel = interruption !== 'cancellation' && run.revertOrder === null
  const signals = [job.signal, AbortSignal.timeout(withinMs), ...(canCancel ? [attempt.cancelled] : [])]
  const signal = AbortSignal.any(signals)
  for (let reason = NOT_IN_TIME; ; ) {
    const reached = await deps.reach(run.server, signal)
    if (!('kind' in reached)) return reached
    if (reached.kind === 'unreachable') {
      const text = `The server could not be reached: ${reached.message}.`
      if (text !== reason) await log.line(text)
      reason = text
    }
    if (signal.aborted || performance.now() >= until) return { kind: 'unreached', reason }
    await delay(RECONNECT_PAUSE_MS, undefined, { signal }).catch(() => {})
  }
}

const NOT_IN_TIME = 'The server could not be reached in time.'
