import type { State } from '#model/actions/status.ts'
import type { OverriddenFreeze } from '#model/gates/decide-gate.ts'
import { gateOf } from '#platform/vocabulary.ts'

// What a scheduling pass reads and moves.

export type ScheduledTarget = State & {
  id: number
  actionId: number
  batch: number
  serverId: number
  startedAt: string | null
}

export type ScheduledAction = State & {
  id: number
  pipelineId: number
  type: string
  parentId: number | null
  createdAt: string
  startedAt: string | null
  /** It counts against the concurrency limit of its pipeline. */
  hasSlot: boolean
  /** How many targets may fail before later batches are skipped. */
  maxFailed: number
  /** If more fail, all servers go back to the release that was live before. */
  revertsAll: boolean
  isCancelled: boolean
  /** A newer run of its pipeline has superseded it: it is about to be skipped, and must not start. */
  isSuperseded: boolean
  /** Back to an earlier release, asked for by a person. */
  isRollback: boolean
  /** It must not start before the checks of its commit are green. */
  needsChecks: boolean
  /** It must not start without approval. */
  needsApproval: boolean
  /** Enough people have approved; whether that still holds is verified before it starts. */
  isApproved: boolean
  /** The freezes that a person let it through. */
  overriddenFreezes: readonly OverriddenFreeze[]
  targets: ScheduledTarget[]
}

/** It waits for a slot, and no gate holds it. */
export function needsSlot({ hasSlot, status, reason }: ScheduledAction): boolean {
  return !hasSlot && (status === 'queued' || status === 'waiting') && gateOf(reason) === null
}
