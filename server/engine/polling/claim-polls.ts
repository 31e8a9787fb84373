import { sql } from 'kysely'
import type { Database } from '#platform/database/connect.ts'

/** Longer than a poll takes. After this, another process polls in place of one that died. */
const LEASE_MS = 60_000

export type ClaimedPoll = {
  hookId: string
  /** The repository at the last time. */
  repository: string | null
  failures: number
  everySeconds: number
  branches: string[]
  applicationId: number
  address: string
  provider: string | null
  baseUrl: string | null
  username: string | null
  credentialId: number | null
  secret: Buffer | null
  lease: string
}

/** Hooks that are due, oldest first. The next time counts from now, however long this one takes. */
export async function claimPolls(db: Database, count: number): Promise<ClaimedPoll[]> {
  if (count <= 0) return []
  const { rows } = await sql<ClaimedPoll>`
    with due as (
      select p.hook_id from hook_polls p join hooks h on h.id = p.hook_id
      where p.due_at <= now() and (p.leased_until is null or p.leased_until < now())
        and h.active and h.deleted_at is null and h.settings -> 'poll' is not null
      order by p.due_at limit ${count}::int for update of p skip locked
    ),
    claimed as (
      update hook_polls p set leased_until = now() + ${LEASE_MS}::float8 * interval '1 millisecond',
        due_at = now() + (h.settings #>> '{poll,every_seconds}')::int * interval '1 second'
      from due join hooks h on h.id = due.hook_id where p.hook_id = due.hook_id
      returning p.*, h.pipeline_id, h.settings
    )
    select p.hook_id as "hookId", p.repository, p.failures, (p.settings #>> '{poll,every_seconds}')::int as "everySeconds",
      coalesce((select array_agg(value order by n) from json_array_elements_text((p.settings -> 'poll' -> 'refs')::json)
        with ordinality as r (value, n)), array[a.default_branch]) as branches,
      a.id as "applicationId", a.repository as address, c.provider_code as provider, c.base_url as "baseUrl", c.username,
      c.id as "credentialId", c.secret, p.leased_until::text as lease
    from claimed p join pipelines pl on pl.id = p.pipeline_id join applications a on a.id = pl.application_id
    left join credentials c on c.id = a.credential_id and c.active and c.deleted_at is null`.execute(db)
  return rows
}

const isOwned = ({ hookId, lease }: ClaimedPoll) =>
  sql`hook_id = ${hookId} and leased_until = ${lease}::timestamptz`

export async function endPoll(db: Database, poll: ClaimedPoll): Promise<void> {
  await sql`
    update hook_polls set leased_until = null, polled_at = now(), problem = null, failures = 0
    where ${isOwned(poll)}`.execute(db)
}

/** A host that does not answer is asked less often. */
export async function failPoll(
  db: Database,
  poll: ClaimedPoll,
  problem: string,
  afterMs: number,
): Promise<void> {
  await sql`
    update hook_polls set leased_until = null, polled_at = now(), problem = ${problem}, failures = failures + 1,
      due_at = greatest(due_at, now() + ${afterMs}::float8 * interval '1 millisecond')
    where ${isOwned(poll)}`.execute(db)
}

/** The process stops: another one polls now. */
export async function handBack(db: Database, poll: ClaimedPoll): Promise<void> {
  await sql`update hook_polls set leased_until = null, due_at = now() where ${isOwned(poll)}`.execute(db)
}
