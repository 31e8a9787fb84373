import { type RawBuilder, sql } from 'kysely'
import { readBaselines } from '#model/actions/changes.ts'
import { NEEDS_APPROVAL, ROLLBACK_STAMP, STAMP, TERMS } from '#model/gates/approval-sql.ts'
import { type Demand, demandOf, eligibilityOf } from '#model/gates/approval-terms.ts'
import { loadPeople } from '#model/gates/load-people.ts'
import { loadStarters } from '#model/gates/starters.ts'
import type { Database, Transaction } from '#platform/database/connect.ts'
import type { ApprovalTerms, LiveByServer } from '#platform/database/tables.ts'

// Whether what people approved is what would start now. Under the lock of the environment nothing is compared: what was found
// out before has to be unchanged.

export type ApprovalState = {
  actionId: number
  environmentId: number
  /** Of a deploy. */
  applicationId: number | null
  subject: string | null
  /** As stored, and as it is now. */
  stamp: string | null
  stampNow: string
  shown: LiveByServer | null
  verified: LiveByServer | null
  expiresAt: string | null
  approvedAt: string | null
  dueAt: string | null
  demand: Demand | null
  /** Who approved, and still counts in the table; who has lost the permission is filtered by `countApprovals`. */
  approvers: number[]
}

/** Undefined when the run has never been at the gate. */
export async function loadApproval(db: Database, actionId: number): Promise<ApprovalState | undefined> {
  return (await loadApprovals(db, [actionId])).get(actionId)
}

/** By run, of one environment; those that have never been at the gate are left out. */
export async function loadApprovals(
  db: Database,
  actionIds: readonly number[],
): Promise<Map<number, ApprovalState>> {
  const { rows } = await sql<Omit<ApprovalState, 'demand'> & { terms: ApprovalTerms[] }>`
    select a.id as "actionId", a.environment_id as "environmentId", case when a.type = 'deploy' then pipeline.application_id end as "applicationId",
      r.subject, r.stamp, ${STAMP} as "stampNow", r.shown, r.verified, r.expires_at as "expiresAt",
      r.approved_at as "approvedAt", r.due_at as "dueAt", ${TERMS} as terms,
      array(select user_id from approvals where action_id = a.id and lapsed_at is null and decision = 'approved')
        as approvers
    from actions a
    join pipelines pipeline on pipeline.id = a.pipeline_id
    join approval_requests r on r.action_id = a.id
    where a.id = any(${actionIds}::bigint[])`.execute(db)
  // With one setting, nothing depends on who there is.
  const several = rows.find(({ terms }) => terms.length > 1)
  const people = several ? await loadPeople(db, several) : []
  return new Map(
    rows.map(({ terms, ...state }) => [state.actionId, { ...state, demand: demandOf(terms, people) }]),
  )
}

/** Those who have approved, hold the permission now, and are among those who may. */
export async function findCounted(
  db: Database,
  { actionId, environmentId, approvers, demand }: ApprovalState,
): Promise<number[]> {
  if (approvers.length === 0 || !demand) return []
  const starters = await loadStarters(db, actionId)
  const people = await loadPeople(db, { environmentId }, approvers)
  return people.filter((person) => eligibilityOf(person, demand, starters) === 'eligible').map(({ id }) => id)
}

export async function countApprovals(db: Database, state: ApprovalState): Promise<number> {
  return (await findCounted(db, state)).length
}

/** What these servers serve now. */
export async function readLive(
  db: Database,
  applicationId: number | null,
  serverIds: readonly number[],
): Promise<LiveByServer> {
  if (applicationId === null) return {}
  const baselines = await readBaselines(db, applicationId, serverIds)
  return Object.fromEntries(
    serverIds.map((id) => {
      const live = baselines.get(id) ?? null
      if (live === null || live === 'unknown') return [id, live]
      return [id, { release: live.releaseName, commit: live.commitSha }]
    }),
  )
}

/** Whether each server of `now` serves what it did. */
export function isSameLive(before: LiveByServer | null, now: LiveByServer): boolean {
  const nameOf = (live: LiveByServer[string] | undefined) =>
    typeof live === 'object' && live !== null ? `release ${live.release}` : (live ?? 'nothing')
  return Object.entries(now).every(
    ([id, live]) => before !== null && id in before && nameOf(before[id]) === nameOf(live),
  )
}

/** Nothing that it covers has changed since a worker compared it. */
export async function isCurrent(
  db: Database,
  state: ApprovalState,
  serverIds: readonly number[],
): Promise<boolean> {
  if (state.subject === null || state.stamp !== state.stampNow) return false
  return isSameLive(state.verified, await readLive(db, state.applicationId, serverIds))
}

/** Whether the run may start on these servers. */
export async function isStillApproved(
  trx: Transaction,
  actionId: number,
  serverIds: readonly number[],
): Promise<boolean> {
  const state = await loadApproval(trx, actionId)
  if (!state || state.approvedAt === null || !state.demand) return false
  if (!(await isCurrent(trx, state, serverIds))) return false
  return (await countApprovals(trx, state)) >= state.demand.required
}

/** Something has changed that people saw: a worker finds out what that means. Until then its period goes by as before. */
export async function lookAgain(db: Database, actionIds: readonly number[]): Promise<void> {
  if (actionIds.length === 0) return
  await sql`
    update approval_requests set due_at = clock_timestamp()
    where action_id = any(${actionIds}::bigint[])`.execute(db)
}

/** A worker finds out what these runs ship, and whether that is what was approved; not of those that people are asked about. */
export async function askAgain(trx: Transaction, actionIds: readonly number[]): Promise<void> {
  if (actionIds.length === 0) return
  await sql`
    insert into approval_requests (action_id, environment_id, pipeline_id)
    select id, environment_id, pipeline_id from actions where id = any(${actionIds}::bigint[]) order by id
    on conflict (action_id) do update
    set due_at = clock_timestamp(), approved_at = null, expires_at = null
    where approval_requests.approved_at is not null or approval_requests.expires_at is null`.execute(trx)
}

/** Of runs that wait for their checks: those that people can approve meanwhile, because their commit is known. */
export async function askEarly(db: Database, which: RawBuilder<unknown>): Promise<void> {
  await sql`
    insert into approval_requests (action_id, environment_id, pipeline_id)
    select a.id, a.environment_id, a.pipeline_id from actions a
    where a.gate = 'checks' and a.commit is not null and ${which} and ${NEEDS_APPROVAL}
      and not exists (select from approval_requests r where r.action_id = a.id)
    order by a.id on conflict (action_id) do nothing`.execute(db)
}

/** Where approval is required: what rollbacks are compared with. */
export async function noteStarted(trx: Transaction, actionId: number): Promise<void> {
  await sql`
    insert into started_settings (pipeline_id, action_id, stamp)
    select a.pipeline_id, a.id, ${ROLLBACK_STAMP} from actions a
    where a.id = ${actionId} and a.deployment ->> 'type' is distinct from 'rollback'
    on conflict (pipeline_id) do update set action_id = excluded.action_id, stamp = excluded.stamp`.execute(
    trx,
  )
}
