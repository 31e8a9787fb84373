import { randomUUID } from 'node:crypto'
import type { Transaction } from 'kysely'
import { isEnd, type State } from '#actions/status.ts'
import type { SecretBox } from '#crypto/secret-box.ts'
import type { Database } from '#database/connect.ts'
import type { StoredStep, Tables } from '#database/tables.ts'
import type { Executor } from '#executors/executor.ts'
import type { JobContext } from '#queue/handler.ts'
import { AbortedError } from '#queue/run-attempt.ts'
import { type Begun, beginTarget } from '#scheduling/begin-target.ts'
import { endTarget } from '#scheduling/end-target.ts'
import { moveSteps } from '#scheduling/move-steps.ts'
import type { EnqueueTargets } from '#scheduling/settle.ts'
import type { Cancellations, Watch } from './cancellations.ts'
import { loadRun, type Run, type UnreadableRun } from './load-run.ts'
import { persist } from './persist.ts'
import type { Reach } from './reach.ts'
import { resume, takeUp } from './resume.ts'
import { countDown, failed, type StepOutcome, type StepTools } from './run-step.ts'
import { beginAt, endWith, goOn } from './step-changes.ts'
import type { StepDefinition } from './step-definition.ts'
import { noteInLog, openStepLog, type StepLog } from './step-log.ts'

export type RunnerParts = {
  db: Database
  box: SecretBox
  enqueueTargets: EnqueueTargets
  cancellations: Cancellations
  /** Reaches the server; the executor is closed when the target is done. */
  reach: Reach
  /** Does what a step is there for. */
  perform(tools: StepTools): Promise<StepOutcome>
}

/** More attempts than this, and something about the target kills whoever runs it. */
const MOST_ATTEMPTS = 10

const CANCELLED: State = { status: 'failed', reason: 'FAILED_CANCELLED' }
const WORKER_LOST: State = { status: 'failed', reason: 'FAILED_WORKER_LOST' }
const COMPLETED: State = { status: 'completed', reason: 'COMPLETED' }

/**
 * Runs one target from its first step, or from where a lost worker left it, to its end. Every result is
 * stored before the next step begins, in the name of this attempt: an attempt that was taken over writes
 * nothing more.
 */
export async function runTarget(parts: RunnerParts, targetId: number, context: JobContext): Promise<void> {
  const key = randomUUID()
  const begun = await persist(() => begin(parts, targetId, key, context), context.signal)
  if (!begun) return
  const target: RunningTarget = {
    parts,
    context,
    run: begun.run,
    owner: { ...begun, targetId },
    cancelled: begun.watch.signal,
    executor: undefined,
    isResumed: begun.isTakenOver,
  }
  try {
    let order: number | null = begun.order
    while (order !== null) order = await runOne(target, order)
  } finally {
    begun.watch.stop()
    await target.executor?.close()
  }
}

type RunningTarget = {
  parts: RunnerParts
  context: JobContext
  run: Run
  owner: { targetId: number; actionId: number; environmentId: number; attempt: number }
  cancelled: AbortSignal
  executor: Executor | undefined
  isResumed: boolean
}

type Start = Begun & { run: Run; order: number; watch: Watch }

/** Null: the target is over, or was ended right here. */
async function begin(
  parts: RunnerParts,
  targetId: number,
  key: string,
  context: JobContext,
): Promise<Start | null> {
  const watches: Watch[] = []
  const work = parts.db.transaction().execute(async (trx): Promise<Start | null> => {
    await context.hold(trx)
    const begun = await beginTarget(trx, targetId, key, parts.enqueueTargets)
    if (!begun) {
      await context.complete(trx)
      return null
    }
    const run = await loadRun(trx, parts.box, targetId)
    const decision = 'kind' in run ? unprepared(begun, run) : whereToBegin(begun, run)
    const owner = { ...begun, targetId }
    if ('kind' in run || 'end' in decision) {
      const { order, end, note } = decision as Ending
      await noteInLog(trx, { ...owner, stepOrder: order }, note)
      await endTarget(trx, owner, (steps, at) => endWith(steps, order, end, at), parts.enqueueTargets)
      await context.complete(trx)
      return null
    }
    const { order } = decision
    await moveSteps(trx, owner, (steps, at) => beginAt(steps, order, at))
    if (begun.isTakenOver) await noteInLog(trx, { ...owner, stepOrder: order }, TAKEN_OVER)
    // Whoever cancels the action waits for this transaction: from here on it cannot happen unheard.
    const watch = parts.cancellations.watch(begun.actionId)
    watches.push(watch)
    return { ...begun, run, order, watch }
  })
  return work.catch((error) => {
    for (const watch of watches) watch.stop()
    throw error
  })
}

type Ending = { order: number; end: State; note: string }
type Beginning = { order: number } | Ending

const TAKEN_OVER = 'The worker that ran this is gone. Another one begins again here.'
const GIVEN_UP = 'The worker that ran this was lost, and the step may not be repeated.'

function unprepared({ steps }: Begun, { message }: UnreadableRun): Ending {
  return { order: firstOpen(steps), end: { status: 'failed', reason: 'FAILED' }, note: message }
}

function firstOpen(steps: readonly StoredStep[]): number {
  return steps.find((step) => !isEnd(step.status))!.order
}

function whereToBegin(begun: Begun, run: Run): Beginning {
  const order = firstOpen(begun.steps)
  if (begun.cancelled) return { order, end: CANCELLED, note: 'Cancelled.' }
  if (!begun.isTakenOver) return { order }
  const resumption = resume(begun.steps, run.steps)
  if (resumption.kind === 'go-on' && begun.attempt <= MOST_ATTEMPTS) return resumption
  return { order, end: WORKER_LOST, note: GIVEN_UP }
}

/** Runs one step and stores what came of it. Returns the order of the next one, or null at the end. */
async function runOne(target: RunningTarget, order: number): Promise<number | null> {
  const { parts, context, run, owner } = target
  const step = run.steps.find((one) => one.order === order)!
  const outcome = await performStep(target, step)
  target.isResumed = false
  const next = run.steps.find((one) => one.order === order + 1)
  const isOver = outcome.kind !== 'done' || !next
  if (!isOver) {
    const isCancelled = await inAttempt(target, async (trx) => {
      const moved = await moveSteps(trx, owner, (steps, at) => goOn(steps, order, at))
      if (moved.kind === 'lost') throw new Error('Another attempt has taken the target over.')
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
