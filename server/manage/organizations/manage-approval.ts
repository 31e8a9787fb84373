import { sql } from 'kysely'
import { lockScheduling } from '#model/actions/lock-scheduling.ts'
import { APPLIES } from '#model/gates/approval-sql.ts'
import { eligibilityOf, NO_STARTERS, type Person, strictest } from '#model/gates/approval-terms.ts'
import { loadPeople } from '#model/gates/load-people.ts'
import type { Transaction } from '#platform/database/connect.ts'
import type { ApprovalTerms, Approvers } from '#platform/database/tables.ts'
import { FieldErrors, type HttpProblem } from '#platform/http/problems.ts'
import type { ErrorsByField } from '#platform/http/validation.ts'

/** Whether enough people could approve, were they not the starters. */
export async function checkApproval(
  trx: Transaction,
  terms: ApprovalTerms,
  /** Without an environment: of a new one. */
  at: { environmentId?: number; projectId: number },
): Promise<HttpProblem | undefined> {
  const errors = new FieldErrors()
  const { from, required } = terms
  if (from && from.user_ids.length + from.role_ids.length + from.roles.length === 0)
    errors.add(
      'approval.from',
      'must name at least one user or role; null means everyone with the permission',
    )
  if (errors.any) return errors.problem
  const people = await loadPeople(trx, at)
  const unknown = from ? await findUnknown(trx, from, people, at.projectId) : {}
  if (Object.keys(unknown).length > 0) return { kind: 'unknown', errors: unknown }
  const demand = strictest([terms])!
  const eligible = people.filter((person) => eligibilityOf(person, demand, NO_STARTERS) === 'eligible').length
  if (required > eligible)
    errors.add('approval.required', `is more than the number of people who may approve there (${eligible})`)
  return errors.problem
}

/** People without a role in the environment, and roles of other organizations. */
async function findUnknown(
  trx: Transaction,
  { user_ids, role_ids }: Approvers,
  people: readonly Person[],
  projectId: number,
): Promise<ErrorsByField> {
  const { rows } = await sql<{ id: number }>`
    select r.id from roles r join projects p on p.organization_id = r.organization_id
    where p.id = ${projectId} and r.id = any(${role_ids}::bigint[])`.execute(trx)
  const errors: ErrorsByField = {}
  for (const [index, id] of user_ids.entries())
    if (!people.some((person) => person.id === id))
      errors[`approval.from.user_ids.${index}`] = ['has no role in the environment']
  for (const [index, id] of role_ids.entries())
    if (!rows.some((row) => row.id === id)) errors[`approval.from.role_ids.${index}`] = ['does not exist']
  return errors
}

/**
 * From the moment of the commit on, nothing starts without: runs are judged under the same lock. Those that wait for approval
 * expire earlier if the new setting says so; those that were approved before their checks are green may need more approvals.
 */
export async function storeTerms(
  trx: Transaction,
  environmentId: number,
  terms: ApprovalTerms | null,
): Promise<void> {
  await lockScheduling(trx, [environmentId])
  await sql`
    update approval_terms set until = clock_timestamp()
    where environment_id = ${environmentId} and until is null`.execute(trx)
  if (!terms) return
  const { id } = await trx
    .insertInto('approval_terms')
    .values({ environment_id: environmentId, terms: JSON.stringify(terms) })
    .returning('id')
    .executeTakeFirstOrThrow()
  await sql`
    update approval_requests r set expires_at = least(r.expires_at,
      r.asked_at + ${terms.expires_after_minutes}::int * interval '1 minute')
    from actions a join approval_terms x on x.id = ${id}
    where r.environment_id = ${environmentId} and r.expires_at is not null and a.id = r.action_id and ${APPLIES}`.execute(
    trx,
  )
  // Approved while their checks still run: a worker counts again, and people are asked for what is missing.
  await sql`
    update approval_requests r set approved_at = null, due_at = clock_timestamp()
    from actions a join approval_terms x on x.id = ${id}
    where r.environment_id = ${environmentId} and r.approved_at is not null and a.id = r.action_id and a.gate = 'checks'
      and ${APPLIES}`.execute(trx)
}
