// What there is once for the whole instance.
import type { Generated } from 'kysely'
import type { MaybeTimestamp, Timestamp } from './columns.ts'

export type InstanceTables = {
  tree_version: { only_row: boolean; version: number }
  /** `installation`: identifies this Gantry on the servers that it deploys to. */
  key_check: { only_row: Generated<boolean>; sealed: Buffer; installation: Generated<string> }
  /** Not part of backups. */
  newest_backup: { only_row: Generated<boolean>; made_at: Timestamp }
  retention_progress: { environment_id: number; logs_before: number }
  retention_totals: {
    only_row: boolean
    bodies_before: string
    runs: number
    logs: number
    requests: number
    bodies: number
    finished_at: MaybeTimestamp
  }
}
