import type { EnqueueTargets } from '#engine/scheduling/settle.ts'
import type { SecretBox } from '#platform/crypto/secret-box.ts'
import type { Database } from '#platform/database/connect.ts'
import type { Log } from '#platform/queue/core.ts'
import type { Cancellations } from './cancellations.ts'
import type { Reach } from './reach.ts'
import type { StepOutcome, StepTools } from './run-step.ts'

/** What running targets takes; the same for all targets of a process. */
export type RunnerDeps = {
  db: Database
  box: SecretBox
  log: Log
  enqueueTargets: EnqueueTargets
  cancellations: Cancellations
  /** Reaches the server; the executor is closed when the target is done. */
  reach: Reach
  /** Does what a step is there for. */
  perform(tools: StepTools): Promise<StepOutcome>
}
