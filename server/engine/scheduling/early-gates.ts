import { type RawBuilder, sql } from 'kysely'
import { type State, WAITING_FOR_APPROVAL, WAITING_FOR_CHECKS } from '#model/actions/status.ts'
import { IS_APPROVED, NEEDS_APPROVAL } from '#model/gates/approval-sql.ts'
import { NEEDS_CHECKS } from '#model/gates/checks-sql.ts'

/** The gates that come before the freezes. */
export type EarlyGate = 'checks' | 'approval'
export const WAITING_AT: Record<EarlyGate, State> = {
  checks: WAITING_FOR_CHECKS,
  approval: WAITING_FOR_APPROVAL,
}

/** Of a row `a` of `actions`: the first of them that is closed. */
export const CLOSED_EARLY_GATE: RawBuilder<EarlyGate | null> = sql`case when ${NEEDS_CHECKS} then 'checks'
  when ${NEEDS_APPROVAL} and not ${IS_APPROVED} then 'approval' end`
