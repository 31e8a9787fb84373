import type { Executor, Unreachable } from '#adapters/executors/executor.ts'
import type { TargetAttempt, TargetLifecycle } from '#engine/scheduling/target-lifecycle.ts'
import type { SecretBox } from '#platform/crypto/secret-box.ts'
import type { Database, Transaction } from '#platform/database/connect.ts'
import type { Masker } from '#platform/masking/mask-stream.ts'
import type { Log } from '#platform/queue/core.ts'
import type { JobContext } from '#platform/queue/handler.ts'
import type { PathsOutcome } from './check-paths.ts'
import type { Run, StepDefinition } from './load-run.ts'
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
  /** Whether a run starts at all. */
  checkPaths: (targetId: number, job: JobContext) => Promise<PathsOutcome>
}

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
  /** The step that runs. */
  step?: StepDefinition
}

/** How a step ended, and what is stored with that. */
export type StepResult = { outcome: StepOutcome; alongside?: (trx: Transaction) => Promise<void> }
