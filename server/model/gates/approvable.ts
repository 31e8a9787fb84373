import { sql } from 'kysely'
import type { Database } from '#platform/database/connect.ts'
import type { ApprovalTerms } from '#platform/database/tables.ts'
import { APPLIES } from './approval-sql.ts'
import { isListed } from './approval-terms.ts'
import { loadPeople } from './load-people.ts'

/**
 * The runs that wait for the decision of this person, newest first: in these environments, where they have `action:approve`.
 * Those that they have approved already do not.
 */
export async function findApprovable(
  db: Database,
  person: { id: number; email: string },
  environmentIds: readonly number[],
  limit: number,
): Promise<number[]> {
  const { listed, places } = await findListed(db, person, environmentIds)
  if (places.length === 0) return []
  const { rows } = await sql<{ id: number }>`
    select a.id from approval_requests r join actions a on a.id = r.action_id
    where r.environment_id = any(${places}::bigint[]) and r.expires_at > clock_timestamp() and r.due_at is null
      and (a.gate = 'approval' or exists (select from targets t where t.action_id = a.id and t.gate = 'approval'))
      and exists (select from approval_terms x where ${APPLIES})
      and not exists (select from approval_terms x where ${APPLIES} and x.id <> all(${listed}::bigint[]))
      and not exists (select from approvals d
        where d.action_id = a.id and d.user_id = ${person.id} and d.lapsed_at is null)
      and not (exists (select from approval_terms x where ${APPLIES} and (x.terms ->> 'not_the_starter')::boolean)
        and (a.triggered_by is not distinct from ${person.id} or ${person.email.toLowerCase()} = any(r.author_emails)
          or (a.retry_of is not null or a.parent_id is not null) and exists (
          with recursive chain as (
            select a.id, a.retry_of, a.parent_id, a.triggered_by
            union
            select e.id, e.retry_of, e.parent_id, e.triggered_by
            from chain join actions e on e.id = chain.retry_of or e.id = chain.parent_id
          )
          select from chain where triggered_by = ${person.id})))
    order by r.action_id desc limit ${limit}`.execute(db)
  return rows.map(({ id }) => id)
}

/** The settings that list this person among those who may approve, and the environments that have such settings. */
async function findListed(db: Database, { id }: { id: number }, environmentIds: readonly number[]) {
  const { rows } = await sql<{ id: number; environmentId: number; terms: ApprovalTerms }>`
    select id, environment_id as "environmentId", terms from approval_terms
    where environment_id = any(${environmentIds}::bigint[])`.execute(db)
  const listed: number[] = []
  const places: number[] = []
  for (const [environmentId, settings] of Map.groupBy(rows, (row) => row.environmentId)) {
    const [person] = await loadPeople(db, { environmentId }, [id])
    if (!person?.mayApprove) continue
    const own = settings.filter(({ terms }) => terms.from === null || isListed(person, terms.from))
    listed.push(...own.map((one) => one.id))
    if (own.length > 0) places.push(environmentId)
  }
  return { listed, places }
}
