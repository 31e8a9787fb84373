import type { Transaction } from 'kysely'
import type { Executor } from '#adapters/executors/executor.ts'
import { endTarget } from '#engine/scheduling/end-target.ts'
import { moveSteps } from '#engine/scheduling/move-steps.ts'
import type { State } from '#model/actions/status.ts'
import type { Tables } from '#platform/database/tables.ts'
import type { JobContext } from '#platform/queue/handler.ts'
import { AbortedError } from '#platform/queue/run-attempt.ts'
import { beginAttempt, MOST_ATTEMPTS } from './begin-attempt.ts'
import type { RunnerDeps } from './deps.ts'
import { CANCELLED, COMPLETED, WORKER_LOST } from './ends.ts'
import { isTakenAway, JobReassignedError, withoutSecrets } from './faults.ts'
import type { Run } from './load-run.ts'
import { persist } from './persist.ts'
import { takeUp } from './resume.ts'
import { countDown, failed, type StepOutcome } from './run-step.ts'
import { endWith, goOn } from './step-changes.ts'
import type { StepDefinition } from './step-definition.ts'
import { noteIfPossible, openStepLog, type StepLog } from './step-log.ts'

/**
 * Runs one target from its first step, or from where a lost worker left it, to its end. Every result is
 * stored before the next step begins, in the name of this attempt: an attempt that was taken over writes
 * nothing more.
 */
export async function runTarget(parts: RunnerDeps, targetId: number, context: JobContext): Promise<void> {
  const begun = await beginAttempt(parts, targetId, context)
  if (!begun) return
  const target: RunningTarget = {
    parts,
    context,
    run: begun.run,
    owner: { ...begun, targetId },
    cancelled: begun.watch.signal,
    executor: undefined,
    step: undefined,
    isResumed: begun.isTakenOver,
  }
  try {
    let order: number | null = begun.order
    while (order !== null) order = await runOne(target, order)
  } catch (error) {
    throw isTakenAway(error, context) ? error : tellFault(target, error)
  } finally {
    begun.watch.stop()
    await target.executor?.close()
  }
}

type RunningTarget = {
  parts: RunnerDeps
  context: JobContext
  run: Run
  owner: { targetId: number; actionId: number; environmentId: number; attempt: number }
  cancelled: AbortSignal
  executor: Executor | undefined
  /** The step that runs. */
  step: StepDefinition | undefined
  isResumed: boolean
}

/** Runs one step and stores what came of it. Returns the order of the next one, or null at the end. */
async function runOne(target: RunningTarget, order: number): Promise<number | null> {
  const { parts, context, run, owner } = target
  const step = run.steps.find((one) => one.order === order)!
  target.step = step
  const outcome = await performStep(target, step).catch((error) => metFault(target, step, error))
  target.isResumed = false
  const next = run.steps.find((one) => one.order === order + 1)
  const isOver = outcome.kind !== 'done' || !next
  if (!isOver) {
    const isCancelled = await inAttempt(target, async (trx) => {
      const moved = await moveSteps(trx, owner, (steps, at) => goOn(steps, order, at))
      if (moved.kind === 'lost') throw new JobReassignedError('its steps are not ours to move.')
      if (isActivation(step)) await markLive(trx, run)
      return moved.cancelled
    })
    if (!isCancelled) return next.order
  }
  const endsAt = isOver ? order : next.order
  const end = isOver ? endOf(target, step, outcome) : CANCELLED
  await inAttempt(target, async (trx) => {
    await endTarget(trx, owner, (steps, at) => endWith(steps, endsAt, end, at), parts.enqueueTargets)
    if (outcome.kind === 'done' && isActivation(step)) await markLive(trx, run)
    await context.complete(trx)
  })
  return null
}

function isActivation(step: StepDefinition): boolean {
  return step.builtIn && step.name === 'activate-new-release'
}

/** From the first server on that serves it, whatever the steps after that come to: one can go back from it. */
async function markLive(trx: Transaction<Tables>, { actionId, application }: Run): Promise<void> {
  await trx
    .updateTable('applications')
    .set({ live_action_id: actionId })
    .where('id', '=', application!.id)
    .execute()
}

/** What a step's outcome makes of it. Throws when the job goes back to the queue, or is no longer ours. */
function endOf(target: RunningTarget, step: StepDefinition, outcome: StepOutcome): State {
  if (outcome.kind === 'done') return COMPLETED
  if (outcome.kind === 'failed') return { status: 'failed', reason: outcome.reason }
  if (target.cancelled.aborted) return CANCELLED
  const why = target.context.signal.reason
  if (!(why instanceof AbortedError) || why.why === 'lost') throw why
  if (why.why === 'timeout') return { status: 'failed', reason: 'FAILED_TIMEOUT' }
  const { steps } = target.run
  if (takeUp(steps, steps.indexOf(step)).kind === 'go-on') throw why
  return WORKER_LOST
}

const MET_FAULT =
  "Something went wrong inside Gantry while this step ran. It was not the step's doing: the reason is in Gantry's own log."

/** Ends the step that could not be carried through. Throws when it is tried again, or is no longer ours. */
async function metFault(target: RunningTarget, step: StepDefinition, error: unknown): Promise<StepOutcome> {
  const { context, run, owner } = target
  if (isTakenAway(error, context)) throw error
  if (target.cancelled.aborted) return { kind: 'stopped' }
  const isRepeated =
    owner.attempt < MOST_ATTEMPTS && takeUp(run.steps, run.steps.indexOf(step)).kind === 'go-on'
  const note = isRepeated ? `${MET_FAULT} It is tried again.` : MET_FAULT
  await inAttempt(target, (trx) => noteIfPossible(trx, { ...owner, stepOrder: step.order }, note))
  // Whoever runs the target tells of what is thrown.
  if (isRepeated) throw error
  tellFault(target, error)
  return failed('FAILED', null)
}

/** The operator's line. Returns the error as others may see it. */
function tellFault({ parts, run, owner, step }: RunningTarget, thrown: unknown): Error {
  const err = withoutSecrets(thrown, run.secrets)
  const { actionId, targetId, attempt } = owner
  const fields = {
    action_id: actionId,
    target_id: targetId,
    step_order: step?.order,
    step: step?.name,
    attempt,
  }
  parts.log.error({ err, ...fields }, 'a step met a fault')
  return err
}

/** A transaction that only the attempt that owns the job can make, repeated while the database is away. */
function inAttempt<Result>(
  { parts, context }: RunningTarget,
  work: (trx: Transaction<Tables>) => Promise<Result>,
): Promise<Result> {
  return persist(
    () =>
      parts.db.transaction().execute(async (trx) => {
        await context.hold(trx)
        return work(trx)
      }),
    context.signal,
  )
}

async function performStep(target: RunningTarget, step: StepDefinition): Promise<StepOutcome> {
  const { parts, context, run, owner } = target
  const log = await openStepLog(parts.db, { ...owner, stepOrder: step.order }, run.secrets, context.signal)
  try {
    const outcome = await performWith(target, step, log)
    if (outcome.kind === 'failed' && outcome.message) await log.line(outcome.message)
    if (outcome.kind === 'stopped')
      await log.line(target.cancelled.aborted ? 'Cancelled.' : 'Broken off: the worker stops.')
    return outcome
  } finally {
    await log.close()
  }
}

async function performWith(target: RunningTarget, step: StepDefinition, log: StepLog): Promise<StepOutcome> {
  const { parts, context, run, owner, cancelled } = target
  const signal = AbortSignal.any([context.signal, cancelled])
  if (signal.aborted) return { kind: 'stopped' }
  if (!target.executor) {
    const reached = await parts.reach(run.server, signal)
    if ('kind' in reached)
      return reached.kind === 'cancelled'
        ? { kind: 'stopped' }
        : failed('FAILED_UNREACHABLE', reached.message)
    target.executor = reached
  }
  return parts.perform({
    run,
    step,
    attempt: owner.attempt,
    isResumed: target.isResumed,
    executor: target.executor,
    leftMs: countDown(step.timeoutSeconds),
    signal,
    write: log.write,
    line: log.line,
  })
}
