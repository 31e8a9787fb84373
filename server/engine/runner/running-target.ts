import type { DetachedSteps } from '#adapters/executors/detached.ts'
import type { Executor, Unreachable } from '#adapters/executors/executor.ts'
import type { DetachedStep } from '#engine/scheduling/detached-steps.ts'
import type { TargetAttempt, TargetLifecycle } from '#engine/scheduling/target-lifecycle.ts'
import type { SecretBox } from '#platform/crypto/secret-box.ts'
import type { Database, Transaction } from '#platform/database/connect.ts'
import type { Masker } from '#platform/masking/mask-stream.ts'
import type { Log } from '#platform/queue/core.ts'
import type { JobContext } from '#platform/queue/handler.ts'
import type { StartOutcome } from './check-paths.ts'
import type { Run, StepDefinition } from './load-run.ts'
import type { createRemovals } from './removals.ts'
import type { StepHandler, StepOutcome } from './step.ts'

export type Reach = (
  server: Run['server'],
  signal: AbortSignal,
) => Promise<Executor | Unreachable | { kind: 'cancelled' }>

/** What running targets takes; the same for all targets of a process. */
export type RunnerDeps = {
  db: Database
  box: SecretBox
  log: Log
  lifecycle: TargetLifecycle
  /** Connects to the server; the executor is closed when the target is done. */
  reach: Reach
  handleStep: StepHandler
  /** Of a run that passed its checks a while ago: whether they are still green. If not, its gate closes. */
  recheck: (targetId: number, signal: AbortSignal) => Promise<void>
  /** GANTRY_REATTACH_SECONDS. */
  reattachSeconds: number
  /** Whether a run starts at all. */
  checkStart: (targetId: number, job: JobContext) => Promise<StartOutcome>
}

/** `left`: this worker stops following it. `silentMs`: since the server answered last; null when that is not known. */
export type Interruption = { kind: 'left' } | { kind: 'lost'; silentMs: number | null }

/** A target that this process runs. */
export type RunningTarget = {
  deps: RunnerDeps
  job: JobContext
  run: Run
  attempt: TargetAttempt
  /** For the logs of its steps: the secrets are the same for all. */
  newMasker: () => Masker
  isResumed: boolean
  /** An earlier attempt was lost in the step that switches `current`. */
  hasInterruptedSwitch: boolean
  /** The step whose log has got a note at the start of this attempt. */
  notedOrder: number | null
  executor?: Executor
  /** The server has been reached before: from now on a lost connection is waited for. */
  hasConnected: boolean
  /** The step that runs, if it may run on its server by itself. */
  detached: DetachedStep | null
  /** Over the connection of `executor`. */
  detachedSteps?: DetachedSteps
  /** Why the step that ran last has no result: it may run on. */
  interruption: Interruption | null
  /** Its reason is RECONNECTING, unless it reverts. */
  isReconnecting: boolean
  /** When the server answered last, by `performance.now()`; only while it does not. */
  silentSince?: number
  removals: ReturnType<typeof createRemovals>
  /** The step that runs. */
  step?: StepDefinition
}

/** How a step ended, and what is stored with that. */
export type StepResult = { outcome: StepOutcome; alongside?: (trx: Transaction) => Promise<void> }
