import { sql } from 'kysely'
import {
  type ApprovalState,
  findCounted,
  isCurrent,
  loadApproval,
} from '#engine/scheduling/verify-approval.ts'
import { isEnd } from '#model/actions/status.ts'
import { TERMS } from '#model/gates/approval-sql.ts'
import { type Eligibility, eligibilityOf, strictest } from '#model/gates/approval-terms.ts'
import { loadPeople } from '#model/gates/load-people.ts'
import { loadStarters } from '#model/gates/starters.ts'
import type { Database } from '#platform/database/connect.ts'
import type { ApprovalTerms, ReasonCode, Status } from '#platform/database/tables.ts'
import { GATES } from '#platform/vocabulary.ts'
import { readCovered } from './read-covered.ts'
import type { GateRecord } from './schemas.ts'
import { notifyStale } from './stale-approvals.ts'

type Row = {
  status: Status
  reason: ReasonCode
  startedAt: string | null
  completedAt: string | null
  isDeploy: boolean
  terms: ApprovalTerms[]
  /** When it came to the gate, and when people were asked. */
  requestedAt: string | null
  askedAt: string | null
  problem: string | null
  waitingTargets: number
  serverIds: number[]
  decisions: {
    user: { id: number; name: string }
    decision: 'approved' | 'rejected'
    comment: string | null
    created_at: string
    lapsed_at: string | null
  }[]
}

/** The approval gate of a run; undefined when it never needed approval. `viewerId`: who asks. */
export async function readApprovalGate(
  db: Database,
  actionId: number,
  viewerId: number,
): Promise<GateRecord | undefined> {
  const { rows } = await sql<Row>`
    select a.status, a.status_reason_code as reason, a.started_at as "startedAt", a.completed_at as "completedAt", a.type = 'deploy' as "isDeploy",
      ${TERMS} as terms, r.created_at as "requestedAt", r.asked_at as "askedAt", r.problem,
      (select count(*) from targets t where t.action_id = a.id and t.gate = 'approval') as "waitingTargets",
      array(select t.server_id from targets t where t.action_id = a.id and t.started_at is null
        and t.completed_at is null order by t.position) as "serverIds",
      coalesce((select json_agg(json_build_object('user', json_build_object('id', u.id, 'name', u.name),
          'decision', d.decision, 'comment', d.comment, 'created_at', d.created_at, 'lapsed_at', d.lapsed_at)
          order by d.id)
        from approvals d join users u on u.id = d.user_id where d.action_id = a.id), '[]') as decisions
    from actions a left join approval_requests r on r.action_id = a.id where a.id = ${actionId}`.execute(db)
  const [row] = rows
  const state = await loadApproval(db, actionId)
  if (!row || (!state && (row.terms.length === 0 || isEnd(row.status)))) return undefined
  // Targets keep that reason until they get a slot again.
  const needsMore = row.waitingTargets > 0 || (row.reason === 'WAITING_CHECKS' && row.terms.length > 0)
  const isWaiting = row.reason === 'WAITING_APPROVAL' || (needsMore && state?.approvedAt == null)
  // What would be approved is shown only while that is what would start.
  const isShown = isWaiting && state?.dueAt === null && state.expiresAt !== null
  const isReady = isShown && (await isCurrent(db, state, row.isDeploy ? row.serverIds : []))
  const viewer = state && isWaiting ? await readEligibility(db, state, viewerId) : null
  // Once it has started, it does not matter who has lost the permission since.
  const mayWait = row.startedAt === null && !isEnd(row.status)
  const counted = state && (isWaiting || mayWait) ? await findCounted(db, state) : null
  const isEnough = (counted?.length ?? 0) >= (state?.demand?.required ?? 0)
  // It may no longer need approval, because a rollback is compared with what ran last, or have enough again.
  if (isShown && (!isReady || isEnough)) await notifyStale(db, actionId)
  const gateState = stateOf(row, isWaiting, state)
  return {
    gate: 'approval',
    gate_human_readable: GATES.approval,
    state: gateState,
    since: sinceOf(row, gateState, state),
    until: isWaiting ? (state?.expiresAt ?? null) : null,
    details: {
      subject: isReady ? state.subject : null,
      is_preparing: isWaiting && !isReady,
      required: (state ? state.demand : strictest(row.terms))?.required ?? 0,
      live: isReady ? state.shown : null,
      // Of what the subject is a hash: for the people who are asked.
      covers:
        isReady && viewer !== null && viewer !== 'no_permission' ? await readCovered(db, actionId) : null,
      decisions: row.decisions.map((one) => ({
        ...one,
        created_at: iso(one.created_at),
        lapsed_at: one.lapsed_at && iso(one.lapsed_at),
        counts:
          one.decision === 'approved' &&
          one.lapsed_at === null &&
          (counted === null || counted.includes(one.user.id)),
      })),
      you_may_approve: isReady && viewer === 'eligible',
      why_not: viewer === 'eligible' ? null : viewer,
      problem: row.problem,
    },
  }
}

function stateOf(row: Row, isWaiting: boolean, state: ApprovalState | undefined): GateRecord['state'] {
  const hasFailed =
    row.reason === 'FAILED_REJECTED' ||
    row.reason === 'FAILED_EXPIRED' ||
    row.reason === 'SKIPPED_EXPIRED' ||
    (row.problem !== null && !isWaiting)
  if (hasFailed) return 'failed'
  if (isWaiting) return 'closed'
  if (state?.approvedAt != null || row.startedAt !== null) return 'open'
  return isEnd(row.status) ? 'failed' : 'closed'
}

function sinceOf(row: Row, gate: GateRecord['state'], state: ApprovalState | undefined): string | null {
  if (gate === 'open') return state?.approvedAt ?? row.askedAt
  if (gate === 'failed' && row.completedAt !== null) return row.completedAt
  return row.askedAt ?? row.requestedAt
}

/** Null: no one is asked. */
async function readEligibility(
  db: Database,
  state: ApprovalState,
  userId: number,
): Promise<Eligibility | null> {
  if (!state.demand) return null
  const [person] = await loadPeople(db, { environmentId: state.environmentId }, [userId])
  if (!person) return 'no_permission'
  return eligibilityOf(person, state.demand, await loadStarters(db, state.actionId))
}

const iso = (time: string) => new Date(time).toISOString()
