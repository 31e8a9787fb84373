// The tables as Kysely sees them, room by room.
import type { AccessTables } from './tables/access.ts'
import type { GateTables } from './tables/gates.ts'
import type { HookTables } from './tables/hooks.ts'
import type { InstanceTables } from './tables/instance.ts'
import type { InventoryTables } from './tables/inventory.ts'
import type { RunTables } from './tables/runs.ts'

export type { Gate, ReasonCode, Status } from '#platform/vocabulary.ts'
export type { Timestamp } from './tables/columns.ts'
export type {
  ChecksResult,
  LiveByServer,
  ShownCheck,
  StoredCheck,
  TimeOfWeek,
  Weekly,
} from './tables/gates.ts'
export type { ConnectionTask, DeliveryState, HookType, RemoteState } from './tables/hooks.ts'
export type {
  ApprovalTerms,
  Approvers,
  ChecksTerms,
  HealthCheck,
  ResourceType,
  Retention,
  TokenTargets,
} from './tables/inventory.ts'
export type { Commit, Deployment, LiveBefore, StoredStep } from './tables/runs.ts'

export type Tables = AccessTables & InventoryTables & RunTables & GateTables & HookTables & InstanceTables

export type RolesTable = Tables['roles']
export type CredentialsTable = Tables['credentials']
export type ServersTable = Tables['servers']
export type ApplicationsTable = Tables['applications']
export type PipelinesTable = Tables['pipelines']
export type PipelineStepsTable = Tables['pipeline_steps']
export type HooksTable = Tables['hooks']
export type ActionsTable = Tables['actions']
export type TargetsTable = Tables['targets']
export type HookHealthTable = Tables['hook_health']
