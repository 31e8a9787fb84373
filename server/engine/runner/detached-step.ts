import { asSentence } from '#adapters/executors/connect.ts'
import type { DetachedEnd, DetachedSteps, Follow } from '#adapters/executors/detached.ts'
import {
  attachStep,
  type DetachedStep,
  launchDetached,
  renewToken,
  type Tracked,
} from '#engine/scheduling/detached-steps.ts'
import { JobReassignedError } from '#engine/scheduling/move-steps.ts'
import { endOfOutput } from '#engine/step-logs/store-chunk.ts'
import { noteDetaching } from '#model/detached/finished-steps.ts'
import { retryOutage } from '#platform/database/outages.ts'
import { AbortedError } from '#platform/queue/run-attempt.ts'
import type { Run, StepDefinition } from './load-run.ts'
import type { RunningTarget } from './running-target.ts'
import {
  type Command,
  type DetachedRun,
  failed,
  GRACE_MS,
  outcomeOf,
  runCommand,
  type StepContext,
  type StepOutcome,
} from './step.ts'
import type { StepLog } from './step-log.ts'

// A step that runs on its server by itself. It is started once per token, and followed until its end by whichever attempt owns
// it; what an attempt that is interrupted leaves behind is in `detached_steps` and on the server.

const DETACHABLE: readonly string[] = ['install-dependencies', 'build-application']

/** Commands of users. Other built-in steps are repeated instead. */
function isDetachable(step: Pick<StepDefinition, 'builtIn' | 'name'>): boolean {
  return !step.builtIn || DETACHABLE.includes(step.name)
}

/** Null: this step of a run is always attached. */
export function trackedStep({ server, steps }: Pick<Run, 'server' | 'steps'>, order: number): Tracked | null {
  const step = steps.find((one) => one.order === order)
  if (server.kind !== 'ssh' || !step || !isDetachable(step)) return null
  return { order, serverId: server.id, runAsUser: step.runAsUser }
}

/** Not detached; null: that is usual there. */
type Attached = { kind: 'attached'; reason: string | null }

/** For a step that has a token. */
export function openDetached(target: RunningTarget, detached: DetachedStep, log: StepLog): DetachedRun {
  const { deps, job, attempt } = target
  const { db } = deps

  const stopped = stopSignals(target)
  const follow: Follow = {
    onOutput: (chunk, rawOffset) => log.writeOutput(chunk, rawOffset),
    ...stopped,
  }

  async function open({ run, step, executor }: StepContext): Promise<DetachedSteps | StepOutcome | Attached> {
    if (!executor.openDetached) return { kind: 'attached', reason: null }
    const owner = `${run.installation}-${run.server.id}`
    const opened = await executor.openDetached({
      ...{ runAsUser: step.runAsUser, owner },
      leaseSeconds: deps.reattachSeconds,
    })
    if (opened.kind === 'unavailable') {
      const reason = asSentence(opened.reason)
      await retryOutage(() => noteDetaching(db, run.server.id, reason), job.signal)
      return { kind: 'attached', reason }
    }
    if (opened.kind === 'impossible') return failed('FAILED', opened.message)
    if (opened.kind === 'unreachable') return lost(opened.message)
    target.detachedSteps = opened
    return opened
  }

  function lost(message: string, silentMs?: number): StepOutcome {
    target.interruption = { kind: 'lost', silentMs: silentMs ?? null }
    return failed('FAILED_UNREACHABLE', message)
  }

  async function attachInstead(
    context: StepContext,
    command: Command,
    reason: string | null,
  ): Promise<StepOutcome> {
    if (!(await retryOutage(() => attachStep(db, detached.token, attempt), job.signal)))
      throw new JobReassignedError('run its step')
    target.detached = null
    if (reason !== null) await context.line(isAttached(reason))
    return runCommand(context, command)
  }

  async function start(context: StepContext, steps: DetachedSteps, command: Command) {
    const { token } = detached
    const statePath = steps.statePath(token)
    const timeoutMs = context.leftMs()
    const logFrom = await log.beginOutput({ offset: 0, skip: 0 })
    if (detached.announcedPath !== statePath || logFrom > 0) {
      steps.expectStart()
      const launch = () => launchDetached(db, { token, attempt: attempt.attempt, statePath, logFrom })
      const launched = await retryOutage(launch, job.signal)
      if (launched === 'reassigned') throw new JobReassignedError('start its step')
      if (launched === 'older-workers') return { kind: launched }
    }
    Object.assign(detached, { statePath, logFrom })
    const { environment, workingFolder = null } = command
    const ending = steps.start(
      {
        ...{ token, command: command.command, environment, workingFolder, timeoutMs },
        graceMs: GRACE_MS,
        leaseSeconds: deps.reattachSeconds,
      },
      follow,
    )
    target.removals.begin()
    return ending
  }

  async function reattach(steps: DetachedSteps) {
    const { token, order, logFrom, statePath } = detached
    const owner = { targetId: attempt.targetId, stepOrder: order }
    const position = await retryOutage(() => endOfOutput(db, owner, logFrom), job.signal)
    await log.beginOutput(position)
    return steps.attach({ token, statePath: statePath!, offset: position.offset }, follow)
  }

  /** The next start is another one. */
  async function renew(): Promise<void> {
    const token = await retryOutage(() => renewToken(db, detached.token, attempt.attempt), job.signal)
    if (token === null) throw new JobReassignedError('start its step')
    Object.assign(detached, { token, statePath: null, logFrom: 0 })
  }

  function judge(
    end: DetachedEnd | { kind: 'unreadable'; message: string },
    { step }: StepContext,
  ): StepOutcome {
    switch (end.kind) {
      case 'left':
        target.interruption = { kind: 'left' }
        return { kind: 'stopped' }
      case 'connection-lost':
        return lost(end.message, end.silentMs)
      case 'unreadable':
        return lost(asSentence(end.message))
      case 'disk-full':
        return failed('FAILED', asSentence(end.message))
      case 'lease-expired':
        return attempt.cancelled.aborted
          ? { kind: 'stopped' }
          : failed('FAILED_UNREACHABLE', leaseExpired(deps.reattachSeconds), { isFinal: true })
      case 'supervisor-lost':
        return failed('FAILED_WORKER_LOST', SUPERVISOR_LOST[end.why])
      default:
        return outcomeOf(end, step)
    }
  }

  return {
    get isRunning() {
      return detached.statePath !== null
    },
    async attach(context) {
      const steps = await open(context)
      // It was possible when the step was started.
      if (steps.kind === 'attached')
        return lost(steps.reason ?? 'The server no longer supports detached steps.')
      if (steps.kind !== 'detached') return steps
      const end = await reattach(steps)
      const isRepeated = end.kind === 'supervisor-lost' && context.step.idempotent
      if (isRepeated) await context.line(SUPERVISOR_LOST[end.why])
      if (isRepeated || end.kind === 'void') {
        await renew()
        return { kind: 'void' }
      }
      return judge(end, context)
    },
    async run(context, prepare) {
      const prepared = await prepare()
      if (prepared.kind !== 'ready') return prepared
      const { command } = prepared
      const steps = await open(context)
      if (steps.kind === 'attached') return attachInstead(context, command, steps.reason)
      if (steps.kind !== 'detached') return steps
      for (;;) {
        if (context.leftMs() === 0) return outcomeOf({ kind: 'timed-out' }, context.step)
        let end: Awaited<ReturnType<typeof start>> | Awaited<ReturnType<typeof reattach>>
        end = await start(context, steps, command)
        if (end.kind === 'older-workers') return attachInstead(context, command, OLDER_WORKERS)
        // An answer was lost, or an attempt that was declared dead came back.
        if (end.kind === 'claimed') end = await reattach(steps)
        if (end.kind === 'supervisor-lost' && context.step.idempotent)
          await context.line(SUPERVISOR_LOST[end.why])
        else if (end.kind !== 'void') return judge(end as DetachedEnd, context)
        await renew()
      }
    },
  }
}

export const OLDER_WORKERS = 'A worker of an older release is online, which could not continue it.'

export const isAttached = (reason: string) => `This step would not survive a lost connection. ${reason}`

const SUPERVISOR_LOST = {
  killed: 'The process that watched this step on the server was killed. What was left of the step was ended.',
  restarted: 'The server has restarted in the middle of this step.',
}

const leaseExpired = (seconds: number) =>
  `Gantry was away for longer than ${seconds} s (GANTRY_REATTACH_SECONDS): the server has ended the step.`

/** A person, or the time limit of the whole run, ends the step. A worker that stops, or has lost the run, leaves it alone. */
function stopSignals({ job, attempt, run, step }: RunningTarget): Pick<Follow, 'cancel' | 'leave'> {
  const [cancel, leave] = [new AbortController(), new AbortController()]
  const isTimeout = ({ reason }: AbortSignal) => reason instanceof AbortedError && reason.why === 'timeout'
  const stop = () => (isTimeout(job.signal) ? cancel : leave).abort()
  if (job.signal.aborted) stop()
  else job.signal.addEventListener('abort', stop, { once: true })
  const isRevert = step!.order === run.revertOrder
  return {
    cancel: isRevert ? cancel.signal : AbortSignal.any([cancel.signal, attempt.cancelled]),
    leave: AbortSignal.any([leave.signal, job.handOver]),
  }
}
