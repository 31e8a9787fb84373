import { countAttempt, moveDetached, type Tracked } from '#engine/scheduling/detached-steps.ts'
import { recordUse } from '#model/actions/credential-uses.ts'
import { isEnd, type State } from '#model/actions/status.ts'
import type { Transaction } from '#platform/database/connect.ts'
import { retryOutage } from '#platform/database/outages.ts'
import { createMaskers } from '#platform/masking/mask-stream.ts'
import { HandOver, type JobContext } from '#platform/queue/handler.ts'
import { AbortedError } from '#platform/queue/run-attempt.ts'
import {
  type BegunAttempt,
  beginTarget,
  CANCELLED,
  isReassigned,
  MAX_ATTEMPTS,
  WORKER_LOST,
  withoutSecrets,
} from './begin-target.ts'
import { isAttached, OLDER_WORKERS, openDetached, trackedStep } from './detached-step.ts'
import { afterRevert, loadRun, type Run, type StepDefinition } from './load-run.ts'
import { isSwitchStep, performSwitch } from './perform-switch.ts'
import { noteConnected, performPatiently, willReconnect } from './reconnect.ts'
import { createRemovals } from './removals.ts'
import { repeatAt } from './resume.ts'
import type { RunnerDeps, RunningTarget, StepResult } from './running-target.ts'
import { countDown, failed, type StepOutcome } from './step.ts'
import { openStepLog, type StepLog, tryAddNote } from './step-log.ts'

/**
 * Runs one target from its first step, or from where a lost worker left it, to its end. Every result is stored
 * before the next step starts, under this attempt's number: once the target is reassigned, it writes nothing more.
 */
export async function runTarget(deps: RunnerDeps, targetId: number, job: JobContext): Promise<void> {
  await deps.recheck(targetId, job.signal)
  const start = await deps.checkStart(targetId, job)
  if (start.kind === 'skipped') return
  const attempt = await beginTarget(deps, targetId, job, start.note)
  if (!attempt) return
  const { run, note } = attempt.plan
  const newMasker = createMaskers(run.secrets)
  const notedOrder = note === null ? null : attempt.plan.order
  const hasInterruptedSwitch = attempt.plan.isSwitch
  const isResumed = attempt.isReassigned && !hasInterruptedSwitch
  const target: RunningTarget = {
    ...{ deps, job, run, attempt, newMasker, isResumed, hasInterruptedSwitch, notedOrder },
    ...{ detached: attempt.plan.detached, interruption: null, removals: createRemovals(deps.db) },
    hasConnected: attempt.isReassigned && hasProgress(attempt),
    isReconnecting: attempt.plan.isReattached === true,
    silentSince: performance.now() - (attempt.plan.detached?.silentMs ?? 0),
  }
  try {
    let order: number | null = attempt.plan.order
    while (order !== null) order = await runStep(target, order)
  } catch (error) {
    throw isReassigned(error, job) ? error : logCrash(target, error)
  } finally {
    attempt.release()
    await target.removals.finish()
    await target.executor?.close()
  }
}

/** Runs one step and stores its result. Returns the order of the next one, or null at the end. */
async function runStep(target: RunningTarget, order: number): Promise<number | null> {
  const { job, run, attempt } = target
  const step = run.steps.find((one) => one.order === order)!
  target.step = step
  const perform = () => performStep(target, step).catch((error) => crashed(target, step, error))
  const result = isSwitchStep(step)
    ? performSwitch(target, step, perform)
    : performPatiently(target, step, perform).then(asResult)
  const { outcome, alongside } = await result
  target.isResumed = false
  target.silentSince = undefined
  const next = run.steps.find((one) => one.order === order + 1)
  if (outcome.kind === 'done' && next) {
    const handsOver = job.isDraining()
    const tracked = handsOver ? null : trackNext(target, next.order)
    const how = { handsOver, alongside, next: tracked ?? (target.detached ? null : undefined) }
    const { isCancelled, detached } = await retryOutage(() => attempt.completeStep(order, how), job.signal)
    removeState(target)
    target.detached = detached
    if (!isCancelled && handsOver) throw new HandOver('The worker drains.')
    if (!isCancelled) return next.order
    const drop = async (trx: Transaction) => void (detached && (await moveDetached(trx, attempt, null)))
    await retryOutage(() => attempt.end(next.order, CANCELLED, drop), job.signal)
    return null
  }
  const end = endOf(target, step, outcome)
  const explain = (trx: Transaction, note: string) => tryAddNote(trx, { ...attempt, stepOrder: order }, note)
  const finish = async (trx: Transaction) => {
    await alongside?.(trx)
    if (target.detached) await moveDetached(trx, attempt, null)
  }
  const back = await retryOutage(() => attempt.end(order, end, finish, explain), job.signal)
  removeState(target)
  if (back !== null) await startReverting(target)
  return back
}

/** Behind a step of the same account, it is known where the server keeps the state of the next one. */
function trackNext({ run, detached, detachedSteps }: RunningTarget, order: number): Tracked | null {
  const tracked = trackedStep(run, order)
  if (!tracked || !detachedSteps || detached?.runAsUser !== tracked.runAsUser) return tracked
  return { ...tracked, statePathOf: detachedSteps.statePath }
}

/** Its result is stored: the server need not keep it. */
function removeState(target: RunningTarget): void {
  const { detached, detachedSteps } = target
  target.detached = null
  if (detached) target.removals.add(detached, detachedSteps)
}

const asResult = (outcome: StepOutcome): StepResult => ({ outcome })

/** The target continues with the steps that were added to it; on another worker if this one stops. */
async function startReverting(target: RunningTarget): Promise<void> {
  const { deps, job, attempt, executor } = target
  if (job.signal.aborted) throw job.signal.reason
  const run = await retryOutage(() => loadRun(deps.db, deps.box, attempt.targetId), job.signal)
  if ('kind' in run) throw new Error(run.message)
  target.run = run
  // The connection may be what failed.
  target.executor = undefined
  await executor?.close()
}

/** How the target ends with this outcome. Throws when the job goes back to the queue, or is no longer ours. */
function endOf(target: RunningTarget, step: StepDefinition, outcome: StepOutcome): State {
  const { attempt, job, run } = target
  if (outcome.kind === 'done') return { status: 'completed', reason: 'COMPLETED' }
  if (outcome.kind === 'failed') return { status: 'failed', reason: outcome.reason }
  if (attempt.cancelled.aborted) return CANCELLED
  const { reason } = job.signal
  if (!(reason instanceof AbortedError) || reason.why === 'lost') throw reason
  if (reason.why === 'timeout') return { status: 'failed', reason: 'FAILED_TIMEOUT' }
  // It runs on, or was not started.
  if (target.detached) throw reason
  if (canRepeat(run, step)) throw reason
  return WORKER_LOST
}

function canRepeat({ steps }: Run, step: StepDefinition): boolean {
  return repeatAt(steps, steps.indexOf(step)) !== null
}

const CRASHED = "An internal error in Gantry interrupted this step. The cause is in Gantry's own log."

/** Fails a step that crashed in our own code. Throws when it is retried, or is no longer ours. */
async function crashed(target: RunningTarget, step: StepDefinition, error: unknown): Promise<StepOutcome> {
  const { deps, job, run, attempt } = target
  if (isReassigned(error, job)) throw error
  if (attempt.cancelled.aborted) return { kind: 'stopped' }
  const isRetried = attempt.counted < MAX_ATTEMPTS && (target.detached !== null || canRepeat(run, step))
  const note = isRetried ? `${CRASHED} It is retried.` : CRASHED
  const addNote = async (trx: Transaction) => {
    await job.hold(trx)
    await tryAddNote(trx, { ...attempt, stepOrder: step.order }, note)
    if (isRetried && target.detached) await countAttempt(trx, attempt.targetId)
  }
  await retryOutage(() => deps.db.transaction().execute(addNote), job.signal)
  // runTarget logs what is thrown.
  if (isRetried) throw error
  logCrash(target, error)
  return failed('FAILED', null)
}

/** For the operator. Returns the error as others may see it. */
function logCrash({ deps, newMasker, attempt, step }: RunningTarget, thrown: unknown): Error {
  const err = withoutSecrets(thrown, newMasker)
  const fields = {
    action_id: attempt.actionId,
    target_id: attempt.targetId,
    step_order: step?.order,
    step: step?.name,
    attempt: attempt.attempt,
  }
  deps.log.error({ err, ...fields }, 'step crashed')
  return err
}

/** An attempt before this one has reached the server: it is worth waiting for. */
function hasProgress({ steps, plan }: BegunAttempt): boolean {
  return plan.isReattached === true || steps.some(({ status }) => isEnd(status))
}

async function performStep(target: RunningTarget, step: StepDefinition): Promise<StepOutcome> {
  const { deps, job, attempt, newMasker } = target
  const isEmpty = attempt.attempt === 1 && target.notedOrder !== step.order
  const owner = { ...attempt, stepOrder: step.order }
  const log = await openStepLog(deps.db, owner, newMasker, job.signal, { isEmpty })
  target.interruption = null
  let isSuspended = false
  try {
    const outcome = await handleStep(target, step, log)
    isSuspended = target.interruption !== null || willReconnect(target, outcome)
    if (isSuspended) return outcome
    if (outcome.kind === 'failed' && outcome.message) await log.line(outcome.message)
    if (outcome.kind === 'stopped')
      await log.line(attempt.cancelled.aborted ? 'Cancelled.' : 'Interrupted: the worker is stopping.')
    return outcome
  } finally {
    await log.close({ isSuspended })
  }
}

async function handleStep(target: RunningTarget, step: StepDefinition, log: StepLog): Promise<StepOutcome> {
  const { deps, job, attempt, isResumed } = target
  const isRevert = step.order === target.run.revertOrder
  // Reverting is finished once it has begun; what follows it can be canceled.
  const signal = isRevert ? job.signal : AbortSignal.any([job.signal, attempt.cancelled])
  const run = step.order > (target.run.revertOrder ?? Infinity) ? afterRevert(target.run) : target.run
  const detached = target.detached && openDetached(target, target.detached, log)
  // A cancellation reaches what runs through the server.
  const isRunning = detached?.isRunning === true
  if (isRunning ? job.signal.aborted : signal.aborted) return { kind: 'stopped' }
  if (!target.executor) {
    const { credentialId } = run.server
    if (credentialId !== null)
      await retryOutage(() => recordUse(deps.db, credentialId, attempt.actionId), signal)
    const reached = await deps.reach(run.server, isRunning ? job.signal : signal)
    if ('kind' in reached)
      return reached.kind === 'cancelled'
        ? { kind: 'stopped' }
        : failed('FAILED_UNREACHABLE', reached.message)
    target.executor = reached
  }
  await noteConnected(target)
  const { executor } = target
  const { write, line } = log
  if (!detached && trackedStep(run, step.order)) await line(isAttached(OLDER_WORKERS))
  const leftMs = countDown(step.timeoutSeconds)
  return deps.handleStep({ run, step, attempt, isResumed, executor, leftMs, signal, write, line, detached })
}
