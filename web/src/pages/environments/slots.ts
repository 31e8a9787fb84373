// The run in each slot of a pipeline, and those that wait for one. Pure.
import type { ActionListItem, Pipeline } from '#web/base/api/types.ts'

type Run = Pick<ActionListItem, 'id' | 'status' | 'status_reason_human_readable'> & { pipeline_id?: number }
type Limited = Pick<Pipeline, 'id' | 'name' | 'max_parallel_actions'>

export type Slots = {
  pipeline: Limited
  running: Run[]
  /** Free slots; null without a limit. */
  free: number | null
  /** Oldest first. */
  waiting: Run[]
}

/** Of the pipelines that have active runs, the one with the longest queue first. Runs come newest first. */
export function toSlots(pipelines: readonly Limited[], active: readonly Run[]): Slots[] {
  const byPipeline = Map.groupBy(active, ({ pipeline_id }) => pipeline_id)
  return pipelines
    .flatMap((pipeline) => {
      const runs = byPipeline.get(pipeline.id)?.toReversed()
      if (!runs) return []
      const running = runs.filter(({ status }) => status === 'in-progress')
      const limit = pipeline.max_parallel_actions
      return {
        pipeline,
        running,
        free: limit === 0 ? null : Math.max(0, limit - running.length),
        waiting: runs.filter(({ status }) => status !== 'in-progress'),
      }
    })
    .toSorted(
      (one, other) => other.waiting.length - one.waiting.length || one.pipeline.id - other.pipeline.id,
    )
}
