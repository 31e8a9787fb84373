import { sql } from 'kysely'
import type { Database } from '#platform/database/connect.ts'
import type { ApprovalTerms } from '#platform/database/tables.ts'
import { APPLIES, REQUIRED } from './approval-sql.ts'
import { isListed, type Person } from './approval-terms.ts'
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
  const { listed, places, eligible } = await findListed(db, person, environmentIds)
  if (places.length === 0) return []
  // Judged run by run, however many may be judged together: most often the first ones are found.
  const isAsked = sql`case when exists (
    select from approval_requests r where r.action_id = a.id and r.expires_at > clock_timestamp() and r.due_at is null
    and exists (select from approval_terms x where ${APPLIES})
    and (not exists (select from approval_terms x where ${APPLIES} and x.id <> all(${listed}::bigint[]))
      or ${NEWEST} = any(${listed}::bigint[]) and ${countInAllLists(eligible)} < ${REQUIRED})
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
        select from chain where triggered_by = ${person.id})))) then true else false end`
  // Of each pipeline, the newest at either gate, in the order that only the index of runs at a gate provides; then the few that
  // have started, and of which servers wait.
  const { rows } = await sql<{ id: number }>`
    select id from (
      select newest.id from pipelines p cross join unnest(array['approval', 'checks']) as closed (gate) cross join lateral (
        select a.id from actions a
        where (a.gate, a.pipeline_id, a.id) > (closed.gate, p.id, 0)
          and (a.gate, a.pipeline_id, a.id) < (closed.gate, p.id, ${MAX_ID}::bigint) and a.gate is not null and ${isAsked}
        order by a.gate desc, a.pipeline_id desc, a.id desc limit ${limit}
      ) as newest
      where p.environment_id = any(${places}::bigint[])
      union
      select a.id from actions a
      where a.id = any(array(select action_id from targets where gate = 'approval'))
        and a.environment_id = any(${places}::bigint[]) and ${isAsked}
    ) as asked order by id desc limit ${limit}`.execute(db)
  return rows.map(({ id }) => id)
}

const MAX_ID = '9223372036854775807'

// As in demandOf of approval-terms.ts: when too few people are in the lists of all settings, the newest one says who.
const NEWEST = sql`(select max(x.id) from approval_terms x where ${APPLIES})`
const countInAllLists = (eligible: readonly { termsId: number; userId: number }[]) => sql`(
  select count(*) from (
    select from unnest(${eligible.map(({ termsId }) => termsId)}::bigint[], ${eligible.map(({ userId }) => userId)}::bigint[])
      as e (terms_id, user_id)
    join approval_terms x on x.id = e.terms_id where ${APPLIES} group by e.user_id
    having count(*) = (select count(*) from approval_terms x where ${APPLIES})
  ) as enough)`

/**
 * The settings that list this person among those who may approve, and the environments that have such settings; of environments
 * with several, also whom each of them lists.
 */
async function findListed(db: Database, { id }: { id: number }, environmentIds: readonly number[]) {
  const { rows } = await sql<{ id: number; environmentId: number; terms: ApprovalTerms }>`
    select id, environment_id as "environmentId", terms from approval_terms
    where environment_id = any(${environmentIds}::bigint[])`.execute(db)
  const listed: number[] = []
  const places: number[] = []
  const eligible: { termsId: number; userId: number }[] = []
  for (const [environmentId, settings] of Map.groupBy(rows, (row) => row.environmentId)) {
    const people = await loadPeople(db, { environmentId }, settings.length > 1 ? null : [id])
    const approvers = people.filter(({ isActive, mayApprove }) => isActive && mayApprove)
    const person = approvers.find((one) => one.id === id)
    if (!person) continue
    const listedIn = (one: Person) =>
      settings.filter(({ terms }) => terms.from === null || isListed(one, terms.from)).map((own) => own.id)
    const own = listedIn(person)
    if (own.length === 0) continue
    listed.push(...own)
    places.push(environmentId)
    for (const one of settings.length > 1 ? approvers : [])
      eligible.push(...listedIn(one).map((termsId) => ({ termsId, userId: one.id })))
  }
  return { listed, places, eligible }
}
