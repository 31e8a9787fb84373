import { randomUUID } from 'node:crypto'
import { type Begun, beginTarget } from '#engine/scheduling/begin-target.ts'
import { endTarget } from '#engine/scheduling/end-target.ts'
import { giveUpTarget } from '#engine/scheduling/give-up-target.ts'
import { moveSteps, type StepChange } from '#engine/scheduling/move-steps.ts'
import { isEnd, type State } from '#model/actions/status.ts'
import type { StoredStep } from '#platform/database/tables.ts'
import type { JobContext } from '#platform/queue/handler.ts'
import type { Watch } from './cancellations.ts'
import type { RunnerDeps } from './deps.ts'
import { CANCELLED, FAILED, WORKER_LOST } from './ends.ts'
import { isTakenAway, withoutSecrets } from './faults.ts'
import { loadRun, type Run, type UnreadableRun } from './load-run.ts'
import { persist } from './persist.ts'
import { resume } from './resume.ts'
import { beginAt, endWith } from './step-changes.ts'
import { noteIfPossible, noteInLog } from './step-log.ts'

/** More attempts than this, and something about the target kills whoever runs it. */
export const MOST_ATTEMPTS = 10

export type Start = Begun & { run: Run; order: number; watch: Watch }

/**
 * Begins an attempt at a target, from its first step or from where another attempt left it. Null: the target is
 * over, or was ended right here.
 */
export async function beginAttempt(
  parts: RunnerDeps,
  targetId: number,
  context: JobContext,
): Promise<Start | null> {
  const key = randomUUID()
  try {
    return await persist(() => begin(parts, targetId, key, context), context.signal)
  } catch (error) {
    if (isTakenAway(error, context)) throw error
    await cannotBegin(parts, targetId, context, error)
    return null
  }
}

async function begin(
  parts: RunnerDeps,
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

const TAKEN_OVER = 'The attempt that ran this is gone. Another one begins again here.'
const GIVEN_UP = 'The worker that ran this was lost, and the step may not be repeated.'

function unprepared({ steps }: Begun, { message }: UnreadableRun): Ending {
  return { order: firstOpen(steps), end: FAILED, note: message }
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

const NOT_BEGUN = "Gantry could not begin this run, and has given up: the reason is in Gantry's own log."

/** Tried again by the queue, and not for ever: the target ends, and others get its place. */
async function cannotBegin(
  parts: RunnerDeps,
  targetId: number,
  context: JobContext,
  error: unknown,
): Promise<void> {
  const { attempt } = context
  const isLast = attempt >= MOST_ATTEMPTS
  const fields = { err: withoutSecrets(error, []), target_id: targetId, attempt, given_up: isLast }
  parts.log.error(fields, 'a target could not be begun')
  if (!isLast) throw error
  await persist(() => giveUp(parts, targetId, context), context.signal)
}

function giveUp(parts: RunnerDeps, targetId: number, context: JobContext): Promise<void> {
  return parts.db.transaction().execute(async (trx) => {
    await context.hold(trx)
    let stepOrder: number | undefined
    const change: StepChange = (steps, at) => {
      stepOrder = steps.find((step) => !isEnd(step.status))?.order
      return endWith(steps, stepOrder ?? 0, FAILED, at)
    }
    const attempt = await giveUpTarget(trx, targetId, FAILED, change, parts.enqueueTargets)
    if (attempt !== null && stepOrder !== undefined)
      await noteIfPossible(trx, { targetId, stepOrder, attempt }, NOT_BEGUN)
    await context.complete(trx)
  })
}
