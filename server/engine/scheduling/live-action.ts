// The scheduling room: which action and which target goes next, within the limits of pipelines and servers.
// Every move after a start is decided and stored here, one environment at a time; whoever does the work
// (runner) or asks for an end (a person who cancels) tells this room what happened.
import type { ReasonCode, Status, StoredStep } from '#platform/database/tables.ts'

export type LiveTarget = {
  id: number
  actionId: number
  batch: number
  serverId: number
  status: Status
  reason: ReasonCode
  startedAt: string | null
  steps: StoredStep[]
}

export type LiveAction = {
  id: number
  pipelineId: number
  type: string
  parentId: number | null
  status: Status
  reason: ReasonCode
  startedAt: string | null
  hasPlace: boolean
  /** How many targets may fail before later batches are left out. */
  maxFailed: number
  applicationId: number | null
  targets: LiveTarget[]
}
