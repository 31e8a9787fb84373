import { randomUUID } from 'node:crypto'
import { type DetachedStep, moveDetached } from '#engine/scheduling/detached-steps.ts'
import { JobReassignedError } from '#engine/scheduling/move-steps.ts'
import type { BegunTarget, TargetLifecycle } from '#engine/scheduling/target-lifecycle.ts'
import { isEnd, type State } from '#model/actions/status.ts'
import type { SecretBox } from '#platform/crypto/secret-box.ts'
import type { Database, Transaction } from '#platform/database/connect.ts'
import { retryOutage } from '#platform/database/outages.ts'
import { maskError } from '#platform/masking/mask-error.ts'
import { createMaskers, type Masker } from '#platform/masking/mask-stream.ts'
import type { Log } from '#platform/queue/core.ts'
import type { JobContext } from '#platform/queue/handler.ts'
import { AttemptLostError, HandOver } from '#platform/queue/handler.ts'
import { trackedStep } from './detached-step.ts'
import { loadRun, type Run, type UnreadableRun } from './load-run.ts'
import { markInterrupted } from './mark-live.ts'
import { isSwitchStep } from './perform-switch.ts'
import { resumeAt } from './resume.ts'
import { addNote, tryAddNote } from './step-log.ts'

/** More attempts than this, and something about the target kills the workers that run it. */
export const MAX_ATTEMPTS = 10

export const FAILED: State = { status: 'failed', reason: 'FAILED' }
export const CANCELLED: State = { status: 'failed', reason: 'FAILED_CANCELLED' }
export const WORKER_LOST: State = { status: 'failed', reason: 'FAILED_WORKER_LOST' }

/** `isSwitch`: it begins with a switch that an earlier attempt was lost in. */
type Plan = { order: number; end?: State; note?: string; isSwitch?: boolean; isReattached?: boolean }

/**
 * Begins an attempt at a target, at its first step or where another attempt was interrupted. Null: the target is
 * over, or was ended right here.
 */
export async function beginTarget(
  deps: { db: Database; lifecycle: TargetLifecycle; box: SecretBox; log: Log },
  targetId: number,
  job: JobContext,
  /** Why it starts, for the log; null when there is nothing to say. */
  why: string | null = null,
) {
  const { lifecycle } = deps
  const key = randomUUID()
  const begin = async () => {
    // Others wait while the attempt begins, and do not wait for this. What has started is read once it is ours; so is what
    // people approved, which may have been something else a moment ago.
    let fresh: Run | UnreadableRun | undefined = await loadRun(deps.db, deps.box, targetId)
    return lifecycle.begin(targetId, job, key, async (trx, begun) => {
      const isSettled = !begun.isReassigned && !begun.needsApproval
      const run = (isSettled && fresh) || (await loadRun(trx, deps.box, targetId))
      fresh = undefined
      const plan = planStart(begun, run)
      const detached = await trackStart(trx, begun, plan, run)
      const note = plan.note ?? why
      if (note) await addNote(trx, { ...begun, stepOrder: plan.order }, note)
      const explain = (inner: Transaction, text: string) =>
        tryAddNote(inner, { ...begun, stepOrder: plan.order }, text)
      const alongside = (inner: Transaction) => markInterrupted(inner, targetId)
      return {
        ...plan,
        isSwitch: plan.isSwitch === true,
        note,
        run: run as Run,
        detached,
        explain,
        alongside,
      }
    })
  }
  try {
    return await retryOutage(begin, job.signal)
  } catch (error) {
    if (isReassigned(error, job)) throw error
    // Retried by the queue, but not forever: in the end the target fails, and others get its slot.
    const { attempt } = job
    const isLast = attempt >= MAX_ATTEMPTS
    const fields = {
      err: withoutSecrets(error, createMaskers([])),
      target_id: targetId,
      attempt,
      final: isLast,
    }
    deps.log.error(fields, 'target could not be started')
    if (!isLast) throw error
    const abandon = () =>
      lifecycle.abandon(targetId, job, FAILED, async (trx, log) => {
        await markInterrupted(trx, targetId)
        await tryAddNote(trx, log, NOT_STARTED)
      })
    await retryOutage(abandon, job.signal)
    return null
  }
}

const NOT_STARTED = "Gantry could not start this run. The cause is in Gantry's own log."
const REASSIGNED = 'The previous attempt was interrupted. A new attempt starts here.'
const HANDED_OVER = 'The worker that ran the previous steps was stopped. Another one continues here.'
const NOT_REPEATED = 'The worker was lost, and the step cannot be repeated safely.'

function planStart(begun: BegunTarget, run: Run | UnreadableRun): Plan {
  const { order, status } = begun.steps.find((step) => !isEnd(step.status))!
  if ('kind' in run) return { order, end: FAILED, note: run.message }
  const detached = begun.detached?.order === order && status === 'in-progress' ? begun.detached : null
  // It runs, or has ended meanwhile: only the server knows.
  if (detached && detached.statePath !== null) return { order, isReattached: true }
  // Reverting is finished once it has begun, unless the machine for it is gone.
  const isReverting = order === run.revertOrder && status === 'in-progress'
  const canFinish = begun.elsewhere === null || begun.isHomeOnline
  if (begun.isCancelled && !(isReverting && canFinish)) return { order, end: CANCELLED, note: 'Cancelled.' }
  if (!begun.isReassigned) return { order }
  const wasHandedOver = !begun.steps.some((step) => step.status === 'in-progress')
  if (wasHandedOver) return order === run.revertOrder ? { order } : { order, note: HANDED_OVER }
  const mayTry = begun.counted <= MAX_ATTEMPTS
  // Nothing was started, and nothing is in its log. An attempt for every step before it was no attempt at this one.
  if (detached && begun.counted <= MAX_ATTEMPTS + order - 1) return { order }
  const resumed = mayTry ? resumeAt(begun.steps, run.steps) : null
  if (resumed === null) return { order, end: WORKER_LOST, note: NOT_REPEATED }
  const isSwitch = isSwitchStep(run.steps.find((step) => step.order === resumed)!)
  return { order: resumed, note: REASSIGNED, isSwitch }
}

/** The token of the step that starts, if that may run on its server by itself. */
async function trackStart(
  trx: Transaction,
  begun: BegunTarget,
  { order, end, isReattached }: Plan,
  run: Run | UnreadableRun,
): Promise<DetachedStep | null> {
  if (isReattached) return begun.detached
  const next = end || 'kind' in run ? null : trackedStep(run, order)
  // A first attempt has left nothing.
  if (!next && !begun.isReassigned) return null
  return moveDetached(trx, begun, next)
}

/** The attempt is over in an orderly way: another one continues the target. */
export function isReassigned(error: unknown, { signal }: JobContext): boolean {
  return (
    signal.aborted ||
    error instanceof HandOver ||
    error instanceof JobReassignedError ||
    error instanceof AttemptLostError
  )
}

/** For the log of the process, and for the queue, which stores the message of a failed attempt. */
export function withoutSecrets(thrown: unknown, newMasker: () => Masker): Error {
  return maskError(thrown, (text) => {
    const masker = newMasker()
    return masker.push(text) + masker.flush()
  })
}

export type BegunAttempt = NonNullable<Awaited<ReturnType<typeof beginTarget>>>
