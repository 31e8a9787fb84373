import { sql } from 'kysely'
import type { PushCall } from '#model/connections/push-call.ts'
import type { Database, Transaction } from '#platform/database/connect.ts'
import { uuidAt } from '#platform/database/uuid-at.ts'
import { type ClaimedConnection, isOwned } from './claim.ts'

/** Of those that the hook was called for last. */
const MAX_BRANCHES = 200
/** A call is stored up to ten seconds after it got its id, and clocks differ. */
const OVERLAP_MS = 10 * 60_000

export type CalledBranch = { branch: string; commit: string; finds: number }

/**
 * The newest call for each branch. Branches with deliveries that are about to be repeated are left out until those have come:
 * they are the calls that would be made.
 */
export function readCalledBranches(db: Database, claimed: ClaimedConnection): Promise<CalledBranch[]> {
  const { hookId } = claimed
  return db.transaction().execute(async (trx) => {
    const { rows } = await sql<{ since: number }>`
      with before as (select calls_read_until from hook_connections where ${isOwned(claimed)} for update)
      update hook_connections c set calls_read_until = now() from before where c.hook_id = ${hookId}
      returning extract(epoch from before.calls_read_until)::float8 * 1000 as since`.execute(trx)
    if (!rows[0]) return []
    await sql`
      insert into called_branches as b (hook_id, branch, call_id, commit)
      select distinct on (pushed_ref) hook_id, substr(pushed_ref, ${PREFIX.length + 1}::int), id, pushed_commit
      from hook_requests
      where hook_id = ${hookId} and id >= ${uuidAt(rows[0].since - OVERLAP_MS)}::uuid
        and starts_with(pushed_ref, ${PREFIX}) and retry_of is null
      order by pushed_ref, id desc
      on conflict (hook_id, branch) do update set call_id = excluded.call_id, commit = excluded.commit, differs_since = null
        where excluded.call_id > b.call_id`.execute(trx)
    const branches = await sql<CalledBranch>`
      select branch, commit, finds from called_branches b where hook_id = ${hookId} and not exists (
        select from missed_calls m where m.hook_id = b.hook_id and m.state in ('waiting', 'redelivered')
          and (not m.is_read or m.ref = ${PREFIX} || b.branch))
      order by call_id desc limit ${MAX_BRANCHES}::int`.execute(trx)
    return branches.rows
  })
}

const PREFIX = 'refs/heads/'

/** In milliseconds, for each branch that differs: how long it still has to. Others no longer do. */
export async function storeDifferences(
  db: Database,
  { hookId }: ClaimedConnection,
  differing: readonly CalledBranch[],
  missedAfterMs: number,
): Promise<Map<string, number>> {
  const branches = differing.map(({ branch }) => branch)
  await sql`
    update called_branches set differs_since = null
    where hook_id = ${hookId} and differs_since is not null and branch <> all(${branches}::text[])`.execute(
    db,
  )
  if (branches.length === 0) return new Map()
  const { rows } = await sql<{ branch: string; ms: number }>`
    update called_branches set differs_since = coalesce(differs_since, now())
    where hook_id = ${hookId} and branch = any(${branches}::text[])
    returning branch,
      greatest(0, ${missedAfterMs}::float8 - extract(epoch from now() - differs_since)::float8 * 1000) as ms`.execute(
    db,
  )
  return new Map(rows.map(({ branch, ms }) => [branch, ms]))
}

/** What is stored in the transaction of a call that Gantry makes: nothing if another process has, or if the host did call. */
export function storeFind(
  claimed: ClaimedConnection,
  { branch, commit, finds }: CalledBranch,
  { push }: Pick<PushCall, 'push'>,
) {
  const { hookId } = claimed
  return {
    async before(trx: Transaction): Promise<boolean> {
      const { rows } = await sql`
        select from called_branches b
        where hook_id = ${hookId} and branch = ${branch} and commit = ${commit} and finds = ${finds}::int
          and exists (select from hook_connections where ${isOwned(claimed)})
          and not exists (
            select from hook_requests r where r.hook_id = b.hook_id and r.id > b.call_id and r.pushed_ref = ${push.ref})
        for update`.execute(trx)
      return rows.length > 0
    },
    async after(trx: Transaction, requestId: string): Promise<void> {
      await sql`
        with branch as (
          select differs_since from called_branches where hook_id = ${hookId} and branch = ${branch}
        ),
        caught as (insert into catch_ups (hook_id) values (${hookId}) returning id)
        insert into missed_calls (catch_up_id, hook_id, delivery_id, event, ref, commit, missed_at, state, is_read, request_id)
        select caught.id, ${hookId}::uuid, r.delivery_id, 'push', ${push.ref}, ${push.commit},
          coalesce(branch.differs_since, now()), 'found', true, ${requestId}::uuid
        from caught, branch, hook_requests r where r.id = ${requestId}::uuid`.execute(trx)
      await sql`
        update called_branches set commit = ${push.commit}, finds = finds + 1, call_id = ${requestId}::uuid,
          differs_since = null
        where hook_id = ${hookId} and branch = ${branch}`.execute(trx)
    },
  }
}
