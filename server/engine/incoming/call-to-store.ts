import type { Variables } from '#model/payload/extract-variables.ts'
import type { CompiledHook } from './compiled-hook.ts'

/** A judged call on its way into the database. */
export type CallToStore = {
  hook: CompiledHook
  /** Of the tree, when the hook was compiled. */
  version: number
  record: CallRecord
  /** Null: the call starts nothing, only its record is stored. */
  start: { variables: Variables; key: Buffer | null; origin: string | null; startedBy: Starter } | null
}

/** Who a run is attributed to: the hook or, for a replay, the person who asked for it. */
export type Starter = { kind: 'hook' } | { kind: 'person'; id: number; name: string; email: string }

export type CallRecord = {
  id: string
  outcome: string
  response_status_code: number
  ip_address: string | null
  url: string
  headers: Record<string, unknown> | null
  content_type: string | null
  body: Buffer | null
  /** What the caller was told, when it is more than the outcome says. */
  response: object | null
  retry_of: string | null
  duration_ms: number
}

export type StoredCall =
  | { kind: 'started'; actionId: number }
  | { kind: 'duplicate'; actionId: number }
  | { kind: 'recorded' }
  /** The pipeline cannot run, or its queue policy allows no further run now. Nothing was stored. */
  | { kind: 'refused' }
  /** The tree has changed since the call was judged: judge it again. Nothing was stored. */
  | { kind: 'stale' }

/** For how long a delivery is remembered. */
export const CLAIM_LIFE = `interval '24 hours'`
