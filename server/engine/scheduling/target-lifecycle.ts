import { sql } from 'kysely'
import {
  type State,
  WAITING_FOR_APPROVAL,
  WAITING_FOR_CHECKS,
  WAITING_FOR_FREEZE,
} from '#model/actions/status.ts'
import type { Database, Transaction } from '#platform/database/connect.ts'
import type { Listener } from '#platform/database/listen.ts'
import type { StoredStep } from '#platform/database/tables.ts'
import type { JobContext } from '#platform/queue/handler.ts'
import { grantAttempt } from '#platform/queue/target-jobs.ts'
import { assignSlots, type EnqueueTargets } from './assign-slots.ts'
import { watchCancellations } from './cancel.ts'
import { type OnMoves, reportMoves, reportSteps } from './committed-moves.ts'
import { decideRevert } from './decide-revert.ts'
import { type DetachedStep, takeDetached } from './detached-steps.ts'
import { isFrozenAtStart } from './frozen-runs.ts'
import { HELD, isHeld } from './held-targets.ts'
import { findHome, RunsElsewhere, sendJobTo } from './home-worker.ts'
import { JobReassignedError, type NextDetached, type OwnSteps, ownSteps, readSteps } from './move-steps.ts'
import { KEEP, revertStep } from './revert-plan.ts'
import type { ScheduledAction, ScheduledTarget } from './scheduled-action.ts'
import { lockScheduling, openSchedulingPass, type SchedulingPass } from './scheduling-pass.ts'
import {
  actionState,
  completeStep,
  endOfTarget,
  endSteps,
  openStep,
  RECONNECTING,
  REVERTING,
  RUNNING,
  startAt,
} from './states.ts'
import { isSupersededAtStart } from './superseded-runs.ts'
import { askAgain, isStillApproved, noteStarted } from './verify-approval.ts'

export type TargetLifecycle = Awaited<ReturnType<typeof openTargetLifecycle>>

/**
 * `explain`: why the target does not revert to the earlier release when it ends here. `alongside`: what else is stored if
 * it ends here, before that is decided.
 */
type StartPlan = {
  order: number
  end?: State
  explain?: Explain
  alongside?: Alongside
  /** The step runs already, by itself: it is not started again. */
  isReattached?: boolean
}

export type BegunTarget = {
  targetId: number
  actionId: number
  environmentId: number
  attempt: number
  /** How many attempts count toward the limit: those that continued a detached step do not. */
  counted: number
  key: string
  steps: StoredStep[]
  /** The running step, if it may run on its server by itself. */
  detached: DetachedStep | null
  isCancelled: boolean
  /** Another attempt had begun before this one. */
  isReassigned: boolean
  /** People approved what its run consists of now. */
  needsApproval: boolean
  /** It can be continued only on the machine of another worker, of this name. */
  elsewhere: string | null
  /** That worker is online, and takes jobs. */
  isHomeOnline: boolean
}

/** Owns the target until another attempt begins. */
export type TargetAttempt = Exclude<Awaited<ReturnType<TargetLifecycle['begin']>>, null>

type Alongside = (trx: Transaction) => Promise<void>
type Explain = (trx: Transaction, note: string) => Promise<void>

/**
 * Everything that the runner reports to scheduling; one per process. Each call is one transaction that holds the job
 * (`locked` holds the target instead), and may be repeated when its result was lost. Call order: `begin`, then on the
 * attempt `completeStep` for every step but the last, then `end`; `release` whatever happened. `abandon` is for a target
 * that cannot begin.
 */
export async function openTargetLifecycle(deps: {
  db: Database
  listener: Listener
  enqueueTargets: EnqueueTargets
  onError: (error: Error) => void
  onMoves?: OnMoves
  /** The name of this worker; without it, every target may run here. */
  workerName?: string
}) {
  const { db, enqueueTargets } = deps
  const cancellations = await watchCancellations(db, deps.listener, deps.onError)

  /** With `environmentId`: what needs the lock of that environment. */
  function inJob<Result>(
    job: JobContext,
    work: (trx: Transaction) => Promise<Result>,
    environmentId?: number,
  ): Promise<Result> {
    const holding = async (trx: Transaction) => {
      await job.hold(trx)
      return work(trx)
    }
    return reportMoves(db, deps.onMoves, holding, environmentId)
  }

  /** Work on a target under the lock of its environment. `place` is null when there is no such target. */
  async function inEnvironment<Result>(
    job: JobContext,
    targetId: number,
    work: (trx: Transaction, place: Place | null) => Promise<Result>,
  ): Promise<Result> {
    // Neither ever changes, so that nothing waits while they are read.
    const place = await findPlace(db, targetId)
    return inJob(job, (trx) => work(trx, place), place?.environmentId)
  }

  /** Moves an owned target to its end, or holds it; its slots go to the next ones. */
  async function endTarget({ pass, action, target }: OpenTarget, end: State, steps: StoredStep[]) {
    await pass.endTarget(target, end, steps)
    // Not the servers of its other targets: their slots are as they were.
    const affected = { pipelineIds: [action.pipelineId], serverIds: [target.serverId] }
    await assignSlots(pass, affected, enqueueTargets)
  }

  /**
   * Ends a target that this attempt owns with one of its steps. Returns null, or the order of the step with which it goes
   * back to the earlier release instead.
   */
  async function endOwned(
    trx: Transaction,
    owner: BegunTarget,
    { order, end, explain, alongside }: StartPlan & { end: State },
  ): Promise<number | null> {
    const pass = await openSchedulingPass(trx, owner.environmentId)
    await alongside?.(trx)
    const owned = await trx
      .selectFrom('targets')
      .select('id')
      .where('id', '=', owner.targetId)
      .where('attempt', '=', owner.attempt)
      .where('status', '=', 'in-progress')
      .forNoKeyUpdate()
      .executeTakeFirst()
    if (!owned) return null
    const opened = (await loadTarget(pass, owner))!
    const [before] = await pass.steps([opened.target])
    const back = revertStep(before!)?.order
    // Its first result was lost.
    if (back !== undefined && order < back) return back
    const steps = endSteps(before!, end, pass.at, order)
    const { revertsAll, isCancelled } = opened.action
    // Also when the step failed by itself, before the worker was notified.
    const verdict = isCancelled ? KEEP : await decideRevert(trx, opened.target, steps, { order, end })
    if (verdict.kind === 'revert') {
      await pass.endTarget(opened.target, REVERTING, [...steps, ...verdict.steps])
      await assignSlots(pass, { actionIds: [opened.action.id] }, enqueueTargets)
      return verdict.steps[0]!.order
    }
    if (verdict.note !== null) await explain?.(trx, verdict.note)
    const ended = endOfTarget(steps)
    await endTarget(opened, ended.status === 'completed' && revertsAll && !isCancelled ? HELD : ended, steps)
    return null
  }

  function attemptOf<Plan extends StartPlan>(job: JobContext, begun: BegunTarget, plan: Plan, own: OwnSteps) {
    const { isReattached } = plan
    const watch = cancellations.watch(begun.actionId)
    const { attempt: _, ...unchanging } = begun
    return {
      ...unchanging,
      plan,
      get attempt(): number {
        return begun.attempt
      },
      /**
       * Takes the next number, so that the server can refuse what this attempt has sent before. Close logs first: they
       * are written under the number. Throws JobReassignedError when another attempt owns the target.
       */
      async raise(): Promise<void> {
        begun.attempt = await inJob(job, (trx) => raiseAttempt(trx, begun))
      },
      /** Likewise, for what continues after a lost connection: it does not count. */
      async reattach(): Promise<void> {
        begun.attempt = await inJob(job, async (trx) => {
          const attempt = await raiseAttempt(trx, begun, { counts: false })
          await takeDetached(trx, { targetId: begun.targetId, attempt })
          return attempt
        })
      },
      /** Says whether the server is being connected to again; a target that reverts keeps its reason. */
      setReconnecting: (isReconnecting: boolean): Promise<void> =>
        inJob(job, (trx) => moveReconnecting(trx, begun, isReconnecting), begun.environmentId),
      /** Aborts when the action is cancelled. */
      cancelled: isReattached && begun.isCancelled ? AbortSignal.abort() : watch.signal,
      /** Stops listening for cancellations. */
      release: watch.stop,
      /**
       * The step is done and the next one starts, unless the target is handed over; `alongside` writes in the same
       * transaction. Returns whether the action was cancelled, and the next step if it may run detached. Throws
       * JobReassignedError when another attempt owns the target.
       */
      async completeStep(
        order: number,
        { alongside, next, ...how }: { handsOver: boolean; alongside?: Alongside; next: NextDetached },
      ): Promise<{ isCancelled: boolean; detached: DetachedStep | null }> {
        const change = (steps: readonly StoredStep[], at: string) => completeStep(steps, order, at, how)
        const moved = alongside ? null : await own.moveAlone(db, change, next)
        if (moved) {
          reportSteps(deps.onMoves, moved.moves)
          return moved
        }
        return inJob(job, async (trx) => {
          const moved = await own.move(trx, change, next)
          await alongside?.(trx)
          return moved
        })
      },
      /**
       * Ends the target with this step, and its job. The action may end with it, and the slots go to the next ones.
       * The state of a target that another attempt owns stays as it is. Returns null, or the order of the step that has
       * started instead: the target goes back to the earlier release. `explain` stores why it does not.
       */
      end(order: number, end: State, alongside?: Alongside, explain?: Explain): Promise<number | null> {
        const work = async (trx: Transaction) => {
          const back = await endOwned(trx, begun, { order, end, explain, alongside })
          if (back === null) await job.complete(trx)
          else await own.move(trx, (steps, at) => startAt(steps, back, at))
          return back
        }
        return inJob(job, work, begun.environmentId)
      },
      /** Work under the environment's scheduling lock. Throws JobReassignedError when another attempt owns the target. */
      locked: <Result>(work: (trx: Transaction) => Promise<Result>): Promise<Result> =>
        db.transaction().execute(async (trx) => {
          await lockScheduling(trx, [begun.environmentId])
          const owned = trx.selectFrom('targets').select('id').where('id', '=', begun.targetId)
          if (!(await owned.where('attempt', '=', begun.attempt).executeTakeFirst()))
            throw new JobReassignedError('write')
          return work(trx)
        }),
    }
  }

  return {
    /**
     * Begins an attempt at a target that is queued, or whose worker was lost. From here on writes of older attempts
     * are rejected. `plan` decides in the same transaction where to start; with `end` the target ends there
     * instead, and its job is completed. Null: the target is over, waits for another worker, or is frozen. The same `key` is the
     * same attempt. Throws RunsElsewhere when another worker has to continue it, unless `plan` ends it; that it goes back
     * to the earlier release is stored before.
     */
    async begin<Plan extends StartPlan>(
      targetId: number,
      job: JobContext,
      key: string,
      plan: (trx: Transaction, begun: BegunTarget) => Promise<Plan>,
    ) {
      let release: (() => void) | undefined
      const work = inEnvironment(job, targetId, async (trx, place) => {
        const begun = place && (await beginAttempt(trx, place, key, deps))
        let start = begun && (await plan(trx, begun))
        let goesBack = false
        while (begun && start?.end) {
          const back = await endOwned(trx, begun, { ...start, end: start.end })
          goesBack = back !== null
          start = back === null ? null : await plan(trx, { ...begun, steps: await readSteps(trx, targetId) })
        }
        if (!begun || !start) {
          await job.complete(trx)
          return null
        }
        if (begun.elsewhere !== null) {
          const elsewhere = new RunsElsewhere(begun.elsewhere)
          if (goesBack) return elsewhere
          throw elsewhere
        }
        const own = ownSteps(job, begun, begun.steps)
        if (start.isReattached) {
          await noteReattached(trx, begun)
          await grantAttempt(trx, job.jobId)
          await moveReconnecting(trx, begun, true)
        } else await own.move(trx, (steps, at) => startAt(steps, start.order, at))
        // A cancellation waits for this transaction, so it cannot come before the watch.
        const attempt = attemptOf(job, begun, start, own)
        release = attempt.release
        return attempt
      })
      try {
        const begun = await work
        if (begun instanceof RunsElsewhere) throw begun
        return begun
      } catch (error) {
        release?.()
        if (error instanceof RunsElsewhere) await sendJobTo(db, job, error.worker)
        throw error
      }
    },
    /** Aborts when the action is cancelled, until it is stopped. For what comes before `begin`. */
    watchCancellation: (actionId: number) => cancellations.watch(actionId),
    /**
     * Ends the action of a target that waits for its worker, all its targets with it, and the job, unless something of the
     * action has started, or ended. `verify` says under the lock whether the reason still holds.
     */
    skip: (
      targetId: number,
      job: JobContext,
      end: State,
      verify: (trx: Transaction) => Promise<'unchanged' | 'changed' | 'busy'>,
    ): Promise<'skipped' | 'changed' | 'busy' | 'started'> =>
      inEnvironment(job, targetId, async (trx, place) => {
        const opened = place && (await openTarget(trx, place))
        if (!opened || opened.action.startedAt !== null) return 'started'
        const verified = await verify(trx)
        if (verified !== 'unchanged') return verified
        const { pass, action } = opened
        await pass.endIdle(action.targets, end)
        pass.moveAction(action, end)
        const serverIds = action.targets.map(({ serverId }) => serverId)
        const affected = { actionIds: [action.id], pipelineIds: [action.pipelineId], serverIds }
        await assignSlots(pass, affected, enqueueTargets)
        await job.complete(trx)
        return 'skipped'
      }),
    /**
     * Ends a target that no attempt can begin, whatever its steps are, and its job. Running attempts lose it.
     * `explain` may write to the log of the first open step, under the number of an attempt made for that.
     */
    abandon: (
      targetId: number,
      job: JobContext,
      end: State,
      explain: (
        trx: Transaction,
        log: { targetId: number; stepOrder: number; attempt: number },
      ) => Promise<void>,
    ) =>
      inEnvironment(job, targetId, async (trx, place) => {
        const opened = place && (await openTarget(trx, place))
        if (opened) {
          const { pass, target } = opened
          const [steps] = await pass.steps([target])
          const stepOrder = openStep(steps!)?.order
          const ended = endSteps(steps!, end, pass.at, stepOrder ?? 0)
          await endTarget(opened, revertStep(ended) ? endOfTarget(ended) : end, ended)
          const { attempt } = await trx
            .updateTable('targets')
            .set((eb) => ({ attempt: eb('attempt', '+', 1), attempt_key: null }))
            .where('id', '=', targetId)
            .returning('attempt')
            .executeTakeFirstOrThrow()
          if (stepOrder !== undefined) await explain(trx, { targetId, stepOrder, attempt })
        }
        await job.complete(trx)
      }),
  }
}

/**
 * A pass with the action of a target that has a slot and is not over; null when there is none. A held one runs nothing, and
 * has no slot.
 */
async function openTarget(trx: Transaction, place: Place) {
  const pass = await openSchedulingPass(trx, place.environmentId)
  const opened = await loadTarget(pass, place)
  if (!opened || isHeld(opened.target)) return null
  const { status } = opened.target
  return status === 'queued' || status === 'in-progress' ? opened : null
}

type Place = { targetId: number; actionId: number; environmentId: number }

async function findPlace(db: Database, targetId: number): Promise<Place | null> {
  const found = await db
    .selectFrom('targets')
    .innerJoin('actions', 'actions.id', 'targets.action_id')
    .select(['targets.id as targetId', 'actions.id as actionId', 'actions.environment_id as environmentId'])
    .where('targets.id', '=', targetId)
    .executeTakeFirst()
  return found ?? null
}

type OpenTarget = { pass: SchedulingPass; action: ScheduledAction; target: ScheduledTarget }

async function loadTarget(
  pass: SchedulingPass,
  { actionId, targetId }: Pick<Place, 'actionId' | 'targetId'>,
): Promise<OpenTarget | undefined> {
  const [action] = await pass.load([actionId])
  const target = action?.targets.find(({ id }) => id === targetId)
  return action && target && { pass, action, target }
}

async function beginAttempt(
  trx: Transaction,
  place: Place,
  key: string,
  { enqueueTargets, workerName }: { enqueueTargets: EnqueueTargets; workerName?: string },
): Promise<BegunTarget | null> {
  const opened = await openTarget(trx, place)
  if (!opened) return null
  const { targetId, actionId, environmentId } = place
  const { pass, action, target } = opened
  const wasRunning = target.status === 'in-progress'
  const home = workerName && (await findHome(pass, { id: targetId, isRunning: wasRunning }, workerName))
  const isElsewhere = home && !home.isHere
  if (isElsewhere && !wasRunning) {
    pass.moveTarget(target, { status: 'waiting', reason: 'WAITING_WORKER' })
    await assignSlots(pass, { actionIds: [actionId], serverIds: [target.serverId] }, enqueueTargets)
    return null
  }
  if (!wasRunning && isSupersededAtStart(action)) {
    await assignSlots(pass, { actionIds: [actionId], serverIds: [target.serverId] }, enqueueTargets)
    return null
  }
  if (!wasRunning && pass.closedGate(action) === 'checks') {
    pass.moveTarget(target, WAITING_FOR_CHECKS)
    await assignSlots(pass, { actionIds: [actionId], serverIds: [target.serverId] }, enqueueTargets)
    return null
  }
  if (!wasRunning && action.needsApproval) {
    const isApproved = action.isApproved && (await isStillApproved(trx, actionId, [target.serverId]))
    if (!isApproved) {
      action.isApproved = false
      await askAgain(trx, [actionId])
      pass.moveTarget(target, WAITING_FOR_APPROVAL)
      await assignSlots(pass, { actionIds: [actionId], serverIds: [target.serverId] }, enqueueTargets)
      return null
    }
  }
  if (!wasRunning && isFrozenAtStart(pass, action)) {
    pass.moveTarget(target, WAITING_FOR_FREEZE)
    await assignSlots(pass, { actionIds: [actionId], serverIds: [target.serverId] }, enqueueTargets)
    return null
  }
  if (action.startedAt === null && pass.asksForApproval()) await noteStarted(trx, actionId)
  if (!wasRunning) pass.moveTarget(target, { status: 'in-progress', reason: 'IN_PROGRESS' })
  // No slot becomes free by this.
  if (action.hasSlot) pass.moveAction(action, actionState(action.targets))
  // A freeze that is over by now has sent them back.
  const isContinued = !wasRunning && action.targets.some(({ reason }) => reason === 'WAITING_FREEZE')
  if (isContinued) await assignSlots(pass, { actionIds: [actionId] }, enqueueTargets)
  else await pass.flush()
  const runsOn = isElsewhere ? sql`targets.worker_name` : sql`${workerName ?? null}`
  type Row = Pick<BegunTarget, 'attempt' | 'counted' | 'isCancelled' | 'steps'> & { isOurs: boolean }
  const { rows } = await sql<Row>`
    with used as (
      insert into used_credits (environment_id, month, target_runs)
      select ${environmentId}, date_trunc('month', ${pass.at}::timestamptz at time zone 'UTC')::date, 1
      where not ${wasRunning}::boolean
      on conflict (environment_id, month) do update set target_runs = used_credits.target_runs + 1
    )
    update targets set attempt_key = ${key}, worker_name = ${runsOn}, attempt = targets.attempt + (before.attempt_key is distinct from ${key})::int
    from targets before join actions on actions.id = before.action_id
    where targets.id = ${targetId} and before.id = targets.id
    returning targets.attempt, targets.attempt - targets.reattached as counted, targets.steps, before.attempt_key is not distinct from ${key} as "isOurs",
      actions.cancelled_at is not null as "isCancelled"`.execute(trx)
  const { isOurs, ...begun } = rows[0]!
  const isReassigned = wasRunning && !isOurs
  const detached = wasRunning ? await takeDetached(trx, { targetId, attempt: begun.attempt }) : null
  const elsewhere = isElsewhere ? home.worker : null
  const isHomeOnline =
    elsewhere !== null && (await pass.workers()).some(({ name, draining }) => name === elsewhere && !draining)
  const { needsApproval } = action
  return {
    ...begun,
    key,
    targetId,
    actionId,
    environmentId,
    detached,
    isReassigned,
    needsApproval,
    elsewhere,
    isHomeOnline,
  }
}

/** A repetition, because the first result was lost, changes nothing. */
async function raiseAttempt(
  trx: Transaction,
  { targetId, attempt, key }: Pick<BegunTarget, 'targetId' | 'attempt' | 'key'>,
  { counts = true } = {},
): Promise<number> {
  const uncounted = counts ? sql<number>`reattached` : sql<number>`reattached + (attempt = ${attempt})::int`
  const raised = await trx
    .updateTable('targets')
    .set({ attempt: attempt + 1, reattached: uncounted })
    .where('id', '=', targetId)
    .where('attempt', 'in', [attempt, attempt + 1])
    .where('attempt_key', '=', key)
    .returning('attempt')
    .executeTakeFirst()
  if (!raised) throw new JobReassignedError('raise its number')
  return raised.attempt
}

/** The first attempt with this key continued a detached step. */
async function noteReattached(trx: Transaction, { targetId, attempt }: BegunTarget): Promise<void> {
  await sql`update targets set reattached = reattached + 1
    where id = ${targetId} and attempt = ${attempt}`.execute(trx)
}

async function moveReconnecting(
  trx: Transaction,
  owner: BegunTarget,
  isReconnecting: boolean,
): Promise<void> {
  const pass = await openSchedulingPass(trx, owner.environmentId)
  const owned = trx.selectFrom('targets').select('id').where('id', '=', owner.targetId)
  if (!(await owned.where('attempt', '=', owner.attempt).executeTakeFirst()))
    throw new JobReassignedError('move its target')
  const opened = await loadTarget(pass, owner)
  const [from, to] = isReconnecting ? [RUNNING, RECONNECTING] : [RECONNECTING, RUNNING]
  if (opened?.target.status !== from.status || opened.target.reason !== from.reason) return
  pass.moveTarget(opened.target, to)
  await pass.flush()
}
