// How a rollout is stored and shown: whole, with its defaults. Pure.

export type RolloutFailure = 'stop' | 'revert_all'

export type Rollout = { batch: number | string; max_failed: number; on_failure: RolloutFailure }

type Given = { batch: number | string; max_failed?: number; on_failure?: RolloutFailure }

/** Rows of before have no `on_failure`. Null: all servers at once. Undefined stays undefined. */
export function wholeRollout<None extends null | undefined>(rollout: Given | None): Rollout | None {
  if (!rollout) return rollout
  const { batch, max_failed = 0, on_failure = 'stop' } = rollout
  return { batch, max_failed, on_failure }
}
