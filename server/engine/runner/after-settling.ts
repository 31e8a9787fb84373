import type { Settled } from '#model/live/settle.ts'

// What becomes of a step that switches `current` and ended without an outcome, once it is known what the server serves.
// Pure.

export type Switch = 'activate-new-release' | 'revert-release'

/**
 * Why there is no outcome. `connection` and `worker`: nothing was wrong with the run, so it continues. `failure`: the step
 * ended, by its own error or by its timeout. `cancellation`: a person stopped the run.
 */
export type Interruption = 'connection' | 'worker' | 'failure' | 'cancellation'

export type Continuation =
  /** It has done what it is for; the run continues. */
  | 'complete'
  /** It has not, and may be repeated. */
  | 'repeat'
  /** The run ends as the step did; the new release is live. */
  | 'end-activated'
  /** The run ends as the step did. */
  | 'end'

/** `before`: the release that `revert-release` reverts to; null when it is not known. */
export function afterSettling(
  step: Switch,
  interruption: Interruption,
  found: Settled,
  before: string | null,
): Continuation {
  const continues = interruption === 'connection' || interruption === 'worker'
  if (found.kind === 'unknown') return 'end'
  if (step === 'activate-new-release') {
    if (found.kind === 'this-run') return continues ? 'complete' : 'end-activated'
    return continues ? 'repeat' : 'end'
  }
  if (found.kind === 'this-run') return continues ? 'repeat' : 'end-activated'
  return found.kind === 'other' && (before === null || found.releaseName === before) ? 'complete' : 'end'
}
