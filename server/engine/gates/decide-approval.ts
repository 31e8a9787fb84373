import { sql } from 'kysely'
import { type Actor, recordAudit } from '#access/audit/record.ts'
import type { Caller } from '#access/authorization/caller.ts'
import { reportMoves } from '#engine/scheduling/committed-moves.ts'
import type { ScheduledAction } from '#engine/scheduling/scheduled-action.ts'
import { openSchedulingPass, type SchedulingPass } from '#engine/scheduling/scheduling-pass.ts'
import {
  type ApprovalState,
  countApprovals,
  isCurrent,
  loadApproval,
  lookAgain,
} from '#engine/scheduling/verify-approval.ts'
import { isEnd, type State } from '#model/actions/status.ts'
import { type Eligibility, eligibilityOf } from '#model/gates/approval-terms.ts'
import { loadPeople } from '#model/gates/load-people.ts'
import { loadStarters } from '#model/gates/starters.ts'
import type { Transaction } from '#platform/database/connect.ts'
import { conflict, type HttpProblem } from '#platform/http/problems.ts'
import type { ReleaseDeps } from './release-loop.ts'
import type { DecisionBody } from './schemas.ts'
import { endWaiting, openGate, waitsForApproval } from './settle-gate.ts'

export type Decision = DecisionBody & { decision: 'approved' | 'rejected' }
export type Approver = {
  caller: Pick<Caller, 'id'>
  actor: Actor
  scope: { organization_id: number; environment_id?: number | null }
}

const NOT_WAITING = 'The action does not wait for approval. GET /actions/{id}/gates says what it waits for.'
const REJECTED: State = { status: 'failed', reason: 'FAILED_REJECTED' }

type Outcome = { kind: 'decided' } | HttpProblem

/**
 * One person's decision about what they saw. Under the lock of the environment: of an approval, a rejection, a cancellation and
 * the end of the period, the first one counts, and the others find that the run no longer waits.
 */
export function decideApproval(
  { db, onMoves, enqueueTargets }: Omit<ReleaseDeps, 'onError'>,
  actionId: number,
  decision: Decision,
  by: Approver,
): Promise<Outcome> {
  const environmentId = by.scope.environment_id!
  const work = async (trx: Transaction): Promise<Outcome> => {
    const pass = await openSchedulingPass(trx, environmentId)
    const [action] = await pass.load([actionId])
    if (!action) return { kind: 'gone' }
    const state = await loadApproval(trx, actionId)
    const problem = await checkDecision(pass, action, state, decision, by)
    if (problem) return problem
    await storeDecision(trx, actionId, decision, by)
    if (decision.decision === 'rejected') {
      await pass.noteGate([action], 'rejected')
      await endWaiting(pass, [action], { whole: REJECTED, part: REJECTED }, enqueueTargets)
      return { kind: 'decided' }
    }
    const after = (await loadApproval(trx, actionId))!
    if ((await countApprovals(trx, after)) >= after.demand!.required) {
      await pass.noteGate([action], 'approved')
      await openGate(pass, action, enqueueTargets)
    }
    return { kind: 'decided' }
  }
  return reportMoves(db, onMoves, work, environmentId)
}

async function checkDecision(
  pass: SchedulingPass,
  action: ScheduledAction,
  state: ApprovalState | undefined,
  { subject }: Decision,
  { caller }: Approver,
): Promise<HttpProblem | undefined> {
  const { trx } = pass
  if (isEnd(action.status)) return conflict('The action has already ended.')
  if (action.isSuperseded) return conflict('A newer run has superseded the action.')
  if (!state || !waitsForApproval(action)) return conflict(NOT_WAITING)
  if (!state.demand) {
    await lookAgain(trx, [action.id])
    return PREPARING
  }
  if (state.subject === null || state.dueAt !== null || state.expiresAt === null) return PREPARING
  if (Date.parse(state.expiresAt) <= Date.parse(pass.at))
    return conflict('The time to approve it is over. Start the action again.')
  if (subject !== state.subject) return OUTDATED
  const waiting = action.targets.filter(({ startedAt, status }) => startedAt === null && !isEnd(status))
  const serverIds = waiting.map(({ serverId }) => serverId)
  if (!(await isCurrent(trx, state, action.type === 'deploy' ? serverIds : []))) {
    await lookAgain(trx, [action.id])
    return OUTDATED
  }
  const [person] = await loadPeople(trx, { environmentId: pass.environmentId }, [caller.id])
  const starters = await loadStarters(trx, action.id)
  const eligibility = person ? eligibilityOf(person, state.demand, starters) : 'no_permission'
  return eligibility === 'eligible' ? undefined : { kind: 'forbidden', reason: NOT_ELIGIBLE[eligibility] }
}

export const NOT_ELIGIBLE: Record<Exclude<Eligibility, 'eligible'>, string> = {
  no_permission: 'This requires the permission action:approve.',
  not_listed: 'The environment lists other people or roles as approvers: one of them has to decide.',
  starter:
    'You started this run, or one that it repeats or follows, or you wrote a commit that it ships: another person has to approve it.',
}

const outdated = (reason: string): HttpProblem => ({ kind: 'conflict', code: 'approval_outdated', reason })
const OUTDATED = outdated(
  'What would ship has changed since you read it. Read GET /actions/{id}/gates again, and send the new details.subject.',
)
const PREPARING = outdated(
  'Gantry is finding out what would ship. Read GET /actions/{id}/gates until details.subject is not null, and send that.',
)

async function storeDecision(
  trx: Transaction,
  actionId: number,
  { decision, subject, comment = null }: Decision,
  { caller, actor, scope }: Approver,
): Promise<void> {
  // The last decision of a person is the one that counts.
  await sql`
    insert into approvals (action_id, user_id, decision, subject, comment)
    values (${actionId}, ${caller.id}, ${decision}, ${subject}, ${comment})
    on conflict (action_id, user_id) where lapsed_at is null do update
    set decision = excluded.decision, subject = excluded.subject, comment = excluded.comment,
      created_at = excluded.created_at`.execute(trx)
  const { name } = await trx
    .selectFrom('actions')
    .innerJoin('pipelines', 'pipelines.id', 'actions.pipeline_id')
    .select('pipelines.name')
    .where('actions.id', '=', actionId)
    .executeTakeFirstOrThrow()
  await recordAudit(trx, actor, {
    organizationId: scope.organization_id,
    verb: decision,
    subject: { type: 'action', id: actionId, name: `${name} #${actionId}` },
    before: null,
    after: { subject, comment },
  })
}
