import { type RawBuilder, sql } from 'kysely'
import type { HostedRepository } from '#model/connections/locate-repository.ts'
import { isSameAnswer } from '#model/gates/judge-checks.ts'
import type { Database } from '#platform/database/connect.ts'
import type { StoredCheck } from '#platform/database/tables.ts'
import { nextQuestion } from './next-question.ts'

// What hosts say about commits. A row is a credential, a repository and a commit: it is asked for once, however many runs
// wait for it, and by one process at a time. When it was asked last is stored before it is, so that a restart asks no sooner.

/** Longer than a request takes. After this, another process asks in place of one that died. */
const LEASE_MS = 60_000

export type ClaimedCommit = {
  id: number
  credentialId: number
  provider: HostedRepository['provider']
  apiUrl: string
  repository: string
  commit: string
  checks: StoredCheck[] | null
  changedAt: string | null
  askedAt: string
  /** Identifies the claim: what is stored counts only while it is the newest. */
  lease: string
}

const ms = (count: number) => sql`${count}::float8 * interval '1 millisecond'`
const LEASE = sql`clock_timestamp() + ${ms(LEASE_MS)}`

/** A run waits for its commit from now on. */
export async function findOrCreate(
  db: Database,
  { provider, apiUrl, path }: HostedRepository,
  { credentialId, commit, minMs }: { credentialId: number; commit: string; minMs: number },
): Promise<number> {
  const { rows } = await sql<{ id: number }>`
    insert into commit_checks as c (credential_id, provider, api_url, repository, commit, due_at)
    values (${credentialId}, ${provider}, ${apiUrl}, ${path}, ${commit}, clock_timestamp())
    on conflict (credential_id, api_url, repository, commit) do update
    set due_at = least(c.due_at, ${earliest(minMs)}) returning id`.execute(db)
  return rows[0]!.id
}

const earliest = (minMs: number) => sql`greatest(clock_timestamp(), c.asked_at + ${ms(minMs)})`

/** The next one that is due, or `only` that one; never sooner than `minMs` after the last question. */
export async function claimCommit(
  db: Database,
  which: { minMs: number } & ({ busyCredentials: readonly number[] } | { only: number }),
): Promise<ClaimedCommit | undefined> {
  const wanted: RawBuilder<unknown> =
    'only' in which
      ? sql`id = ${which.only}`
      : sql`due_at <= clock_timestamp() and credential_id <> all(${which.busyCredentials}::bigint[])`
  const { rows } = await sql<ClaimedCommit>`
    with due as (
      select id from commit_checks
      where ${wanted} and (leased_until is null or leased_until < clock_timestamp())
        and (asked_at is null or asked_at <= clock_timestamp() - ${ms(which.minMs)})
      order by due_at limit 1 for update skip locked
    )
    update commit_checks c set leased_until = ${LEASE}, asked_at = clock_timestamp()::timestamptz(3)
    from due where c.id = due.id
    returning c.id, c.credential_id as "credentialId", c.provider, c.api_url as "apiUrl", c.repository, c.commit, c.checks,
      c.changed_at as "changedAt", c.asked_at as "askedAt", c.leased_until::text as lease`.execute(db)
  return rows[0]
}

const isOwned = ({ id, lease }: ClaimedCommit) => sql`id = ${id} and leased_until = ${lease}::timestamptz`

export async function holdCommit(db: Database, claim: ClaimedCommit): Promise<boolean> {
  const { rows } = await sql<{ lease: string }>`
    update commit_checks set leased_until = ${LEASE} where ${isOwned(claim)}
    returning leased_until::text as lease`.execute(db)
  if (rows[0]) claim.lease = rows[0].lease
  return rows.length > 0
}

const IS_AWAITED = sql`exists (
  select from check_requests r join actions a on a.id = r.action_id
  where r.commit_checks_id = commit_checks.id and r.expires_at is not null and a.gate = 'checks')`

const dueAfter = (afterMs: number) => sql`case when ${IS_AWAITED} then clock_timestamp() + ${ms(afterMs)} end`

/** If no run waits any more. */
export async function stopAsking(db: Database, id: number): Promise<void> {
  await sql`
    update commit_checks set due_at = null where id = ${id} and due_at is not null and not ${IS_AWAITED}`.execute(
    db,
  )
}

export async function storeAnswer(
  db: Database,
  claim: ClaimedCommit,
  { checks, isPartial }: { checks: readonly StoredCheck[]; isPartial: boolean },
  minMs: number,
): Promise<void> {
  const isSame = claim.checks !== null && isSameAnswer(claim.checks, checks)
  const changedAt = isSame ? claim.changedAt! : claim.askedAt
  const settleSeconds = await waitingToSettle(db, claim.id)
  const unchangedMs = Date.parse(claim.askedAt) - Date.parse(changedAt)
  const afterMs = nextQuestion({ unchangedMs, settleSeconds, minMs })
  // When it was asked, not when it had answered: nothing is known about the time in between.
  await sql`
    update commit_checks set checks = ${JSON.stringify(checks)}::jsonb, is_partial = ${isPartial}, problem = null,
      changed_at = ${changedAt}, answered_at = asked_at, leased_until = null, due_at = ${dueAfter(afterMs)}
    where ${isOwned(claim)}`.execute(db)
}

async function waitingToSettle(db: Database, id: number): Promise<number[]> {
  const { rows } = await sql<{ seconds: number }>`
    select distinct (x.terms ->> 'settle_seconds')::int as seconds
    from check_requests r join checks_terms x on x.pipeline_id = r.pipeline_id
    where r.commit_checks_id = ${id} and r.expires_at is not null`.execute(db)
  return rows.map(({ seconds }) => seconds)
}

export async function storeProblem(
  db: Database,
  claim: ClaimedCommit,
  problem: string,
  afterMs: number,
): Promise<void> {
  await sql`
    update commit_checks set problem = ${problem}, leased_until = null, due_at = ${dueAfter(afterMs)}
    where ${isOwned(claim)}`.execute(db)
}

/** The process stops, or the host was not asked. */
export async function handBack(db: Database, claim: ClaimedCommit): Promise<void> {
  await sql`
    update commit_checks set leased_until = null, due_at = clock_timestamp() where ${isOwned(claim)}`.execute(
    db,
  )
}

/** Rows that no run waits for are kept for an hour: another run may ship the same commit. */
export async function forgetOld(db: Database): Promise<void> {
  await sql`
    delete from commit_checks where asked_at < now() - interval '1 hour' and due_at is null and not exists (
      select from check_requests r where r.commit_checks_id = commit_checks.id and r.expires_at is not null)`.execute(
    db,
  )
}
