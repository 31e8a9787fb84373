import { recordUse } from '#model/actions/credential-uses.ts'
import type { State } from '#model/actions/status.ts'
import type { Transaction } from '#platform/database/connect.ts'
import { retryOutage } from '#platform/database/outages.ts'
import { createMaskers } from '#platform/masking/mask-stream.ts'
import { HandOver, type JobContext } from '#platform/queue/handler.ts'
import { AbortedError } from '#platform/queue/run-attempt.ts'
import {
  beginTarget,
  CANCELLED,
  isReassigned,
  MAX_ATTEMPTS,
  WORKER_LOST,
  withoutSecrets,
} from './begin-target.ts'
import { afterRevert, loadRun, type Run, type StepDefinition } from './load-run.ts'
import { isSwitchStep, performSwitch } from './perform-switch.ts'
import { repeatAt } from './resume.ts'
import type { RunnerDeps, RunningTarget, StepResult } from './running-target.ts'
import { countDown, failed, type StepOutcome } from './step.ts'
import { openStepLog, type StepLog, tryAddNote } from './step-log.ts'

/**
 * Runs one target from its first step, or from where a lost worker left it, to its end. Every result is stored
 * before the next step starts, under this attempt's number: once the target is reassigned, it writes nothing more.
 */
export async function runTarget(deps: RunnerDeps, targetId: number, job: JobContext): Promise<void> {
  const paths = await deps.checkPaths(targetId, job)
  if (paths.kind === 'skipped') return
  const attempt = await beginTarget(deps, targetId, job, paths.note)
  if (!attempt) return
  const { run, note } = attempt.plan
  const newMasker = createMaskers(run.secrets)
  const notedOrder = note === null ? null : attempt.plan.order
  const hasInterruptedSwitch = attempt.plan.isSwitch
  const isResumed = attempt.isReassigned && !hasInterruptedSwitch
  const target: RunningTarget = {
    ...{ deps, job, run, attempt, newMasker, isResumed, hasInterruptedSwitch, notedOrder },
  }
  try {
    let order: number | null = attempt.plan.order
    while (order !== null) order = await runStep(target, order)
  } catch (error) {
    throw isReassigned(error, job) ? error : logCrash(target, error)
  } finally {
    attempt.release()
    await target.executor?.close()
  }
}

/** Runs one step and stores its result. Returns the order of the next one, or null at the end. */
async function runStep(target: RunningTarget, order: number): Promise<number | null> {
  const { job, run, attempt } = target
  const step = run.steps.find((one) => one.order === order)!
  target.step = step
  const perform = () => performStep(target, step).catch((error) => crashed(target, step, error))
  const result = isSwitchStep(step) ? performSwitch(target, step, perform) : perform().then(asResult)
  const { outcome, alongside } = await result
  target.isResumed = false
  const next = run.steps.find((one) => one.order === order + 1)
  if (outcome.kind === 'done' && next) {
    const handsOver = job.isDraining()
    const complete = () => attempt.completeStep(order, alongside, { handsOver })
    const isCancelled = await retryOutage(complete, job.signal)
    if (!isCancelled && handsOver) throw new HandOver('The worker drains.')
    if (!isCancelled) return next.order
    await retryOutage(() => attempt.end(next.order, CANCELLED), job.signal)
    return null
  }
  const end = endOf(target, step, outcome)
  const explain = (trx: Transaction, note: string) => tryAddNote(trx, { ...attempt, stepOrder: order }, note)
  const back = await retryOutage(() => attempt.end(order, end, alongside, explain), job.signal)
  if (back !== null) await startReverting(target)
  return back
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
function endOf({ attempt, job, run }: RunningTarget, step: StepDefinition, outcome: StepOutcome): State {
  if (outcome.kind === 'done') return { status: 'completed', reason: 'COMPLETED' }
  if (outcome.kind === 'failed') return { status: 'failed', reason: outcome.reason }
  if (attempt.cancelled.aborted) return CANCELLED
  const { reason } = job.signal
  if (!(reason instanceof AbortedError) || reason.why === 'lost') throw reason
  if (reason.why === 'timeout') return { status: 'failed', reason: 'FAILED_TIMEOUT' }
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
  const isRetried = attempt.attempt < MAX_ATTEMPTS && canRepeat(run, step)
  const note = isRetried ? `${CRASHED} It is retried.` : CRASHED
  const addNote = async (trx: Transaction) => {
    await job.hold(trx)
    await tryAddNote(trx, { ...attempt, stepOrder: step.order }, note)
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

async function performStep(target: RunningTarget, step: StepDefinition): Promise<StepOutcome> {
  const { deps, job, attempt, newMasker } = target
  const isEmpty = attempt.attempt === 1 && target.notedOrder !== step.order
  const owner = { ...attempt, stepOrder: step.order }
  const log = await openStepLog(deps.db, owner, newMasker, job.signal, { isEmpty })
  try {
    const outcome = await handleStep(target, step, log)
    if (outcome.kind === 'failed' && outcome.message) await log.line(outcome.message)
    if (outcome.kind === 'stopped')
      await log.line(attempt.cancelled.aborted ? 'Cancelled.' : 'Interrupted: the worker is stopping.')
    return outcome
  } finally {
    await log.close()
  }
}

async function handleStep(target: RunningTarget, step: StepDefinition, log: StepLog): Promise<StepOutcome> {
  const { deps, job, attempt, isResumed } = target
  const isRevert = step.order === target.run.revertOrder
  // Reverting is finished once it has begun; what follows it can be canceled.
  const signal = isRevert ? job.signal : AbortSignal.any([job.signal, attempt.cancelled])
  const run = step.order > (target.run.revertOrder ?? Infinity) ? afterRevert(target.run) : target.run
  if (signal.aborted) return { kind: 'stopped' }
  if (!target.executor) {
    const { credentialId } = run.server
    if (credentialId !== null)
      await retryOutage(() => recordUse(deps.db, credentialId, attempt.actionId), signal)
    const reached = await deps.reach(run.server, signal)
    if ('kind' in reached)
      return reached.kind === 'cancelled'
        ? { kind: 'stopped' }
        : failed('FAILED_UNREACHABLE', reached.message)
    target.executor = reached
  }
  const { executor } = target
  const { write, line } = log
  const leftMs = countDown(step.timeoutSeconds)
  return deps.handleStep({ run, step, attempt, isResumed, executor, leftMs, signal, write, line })
}
