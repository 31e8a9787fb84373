// The run in each slot of a pipeline, and those that wait for one. Pure.
import type { ActionListItem, Pipeline } from '#web/base/api/types.ts'

type Run = Pick<ActionListItem, 'id' | 'status' | 'status_reason_code' | 'status_reason_human_readable'> & {
  pipeline_id?: number
}
type Limited = Pick<Pipeline, 'id' | 'name' | 'max_parallel_actions'>

export type Slots = {
  pipeline: Limited
  /** Those that hold a slot, whether they run already or are about to. */
  running: Run[]
  /** Free slots; null without a limit. */
  free: number | null
  /** Oldest first. */
  waiting: Run[]
}

/** What holds a slot although nothing of it runs: it waits for a server or a worker. */
const WAITS_WITH_SLOT = ['WAITING_CONCURRENCY_TARGET', 'WAITING_WORKER']
/** At a gate a run has no place in the queue yet. */
const AT_GATE = ['WAITING_CHECKS', 'WAITING_APPROVAL', 'WAITING_FREEZE']

function hasSlot({ status, status_reason_code }: Run): boolean {
  return status === 'in-progress' || status === 'queued' || WAITS_WITH_SLOT.includes(status_reason_code)
}

/** Of the pipelines that have active runs, the one with the longest queue first. */
export function toSlots(pipelines: readonly Limited[], active: readonly Run[]): Slots[] {
  const queued = active.filter(({ status_reason_code }) => !AT_GATE.includes(status_reason_code))
  const inOrder = queued.toSorted((one, other) => one.id - other.id)
  const byPipeline = Map.groupBy(inOrder, ({ pipeline_id }) => pipeline_id)
  return pipelines
    .flatMap((pipeline) => {
      const runs = byPipeline.get(pipeline.id)
      if (!runs) return []
      const running = runs.filter(hasSlot)
      const limit = pipeline.max_parallel_actions
      return {
        pipeline,
        running,
        free: limit === 0 ? null : Math.max(0, limit - running.length),
        waiting: runs.filter((run) => !hasSlot(run)),
      }
    })
    .toSorted(
      (one, other) => other.waiting.length - one.waiting.length || one.pipeline.id - other.pipeline.id,
    )
}

type Counts = Record<'checks' | 'approval' | 'freeze', string>

const AT: Record<keyof Counts, [one: string, many: string]> = {
  checks: ['waits for checks', 'wait for checks'],
  approval: ['waits for approval', 'wait for approval'],
  freeze: ['is held by a freeze', 'are held by a freeze'],
}

/** `12 wait for approval`, in the order of the gates; totals of lists, such as `10000+`. */
export function gatesText(counts: Counts): { gate: keyof Counts; text: string }[] {
  return (Object.keys(AT) as (keyof Counts)[]).flatMap((gate) => {
    const count = counts[gate]
    return count === '0' ? [] : { gate, text: `${count} ${AT[gate][count === '1' ? 0 : 1]}` }
  })
}
