import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import type { Database, Transaction } from '#platform/database/connect.ts'
import { networkOf } from './networks.ts'

// Counts failed logins in the database, so that throttling holds across processes and restarts.
//
// Nobody may keep somebody else out by guessing: what fails elsewhere does not count in a network from which the
// account signed in recently. And throttling tells nobody which accounts exist, or where they sign in from: every
// counter is kept for unknown addresses as well, and an incorrect password gets the same response wherever it is tried.

const QUARTER_HOUR = 15 * 60
const HOUR = 60 * 60

const LIMITS = {
  /** One account from one network. */
  pair: { failures: 10, seconds: QUARTER_HOUR },
  /** Any account from one network. */
  network: { failures: 50, seconds: QUARTER_HOUR },
  /** One account from all networks from which it did not sign in recently. */
  account: { failures: 100, seconds: HOUR },
  /** Beyond this a network is rejected without any work. */
  flood: { failures: 1_000, seconds: QUARTER_HOUR },
}

type Limit = keyof typeof LIMITS
/** Seconds until the limit allows another attempt; null when it does now. */
export type ThrottleState = Record<Limit, number | null>

export type Subjects = Record<'pair' | 'network' | 'account', Buffer>

/** The email as it was typed, in any case. */
export function subjectsOf(email: string, address: string): Subjects {
  const [account, network] = [email.toLowerCase(), networkOf(address)]
  return {
    pair: hashOf('pair', account, network),
    network: hashOf('network', network),
    account: hashOf('account', account),
  }
}

function hashOf(...parts: string[]): Buffer {
  return createHash('sha256').update(JSON.stringify(parts)).digest()
}

/** Concurrent attempts on the same subjects wait for each other. Always in the same order: no deadlock. */
export async function lockSubjects(trx: Transaction, subjects: Subjects): Promise<void> {
  for (const subject of [subjects.pair, subjects.network, subjects.account])
    await sql`select pg_advisory_xact_lock(${subject.readBigInt64BE()})`.execute(trx)
}

export async function readThrottle(db: Database, subjects: Subjects): Promise<ThrottleState> {
  const names = Object.keys(LIMITS) as Limit[]
  const hashes = names.map((name) => subjects[name === 'flood' ? 'network' : name])
  const { rows } = await sql<{ name: Limit; seconds: number | null }>`
    select l.name, ceil(extract(epoch from f.failed_at - now()) + l.seconds)::int as seconds
    from unnest(${names}::text[], ${hashes}::bytea[], ${names.map((name) => LIMITS[name].failures)}::int[],
      ${names.map((name) => LIMITS[name].seconds)}::int[]) as l (name, subject, failures, seconds)
    left join lateral (
      select failed_at from login_failures
      where subject = l.subject and failed_at > now() - l.seconds * interval '1 second'
      order by failed_at desc limit 1 offset l.failures - 1
    ) f on true`.execute(db)
  return Object.fromEntries(
    rows.map(({ name, seconds }) => [name, seconds && Math.max(1, seconds)]),
  ) as ThrottleState
}

/** Pure: seconds to wait before anything is done for this attempt; null to go on. The same for every account. */
export function rejectsAtOnce({ pair, flood }: ThrottleState): number | null {
  return maximum(pair, flood)
}

/** Pure: seconds to wait, as shown for an incorrect password; null when nothing is throttled. The same for every account. */
export function throttledFor({ network, account }: ThrottleState): number | null {
  return maximum(network, account)
}

function maximum(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : Math.max(one, other)
}

/** True when the account signed in from the network of this address within 90 days. */
export async function isFamiliar(db: Database, userId: number, address: string): Promise<boolean> {
  const row = await db
    .selectFrom('sign_in_networks')
    .select('user_id')
    .where('user_id', '=', userId)
    .where('network', '=', networkOf(address))
    .where('signed_in_at', '>', sql<string>`now() - interval '90 days'`)
    .executeTakeFirst()
  return row !== undefined
}

export async function countFailure(trx: Transaction, subjects: Subjects, options: { forAccount: boolean }) {
  const { pair, network, account } = subjects
  const counted = options.forAccount ? [pair, network, account] : [pair, network]
  await trx
    .insertInto('login_failures')
    .values(counted.map((subject) => ({ subject })))
    .execute()
}

/** An attempt that names no account. */
export async function countNetworkFailure(trx: Transaction, { network }: Subjects): Promise<void> {
  await trx.insertInto('login_failures').values({ subject: network }).execute()
}

/** After a correct password; what failed elsewhere stays counted. */
export async function forgetFailures(trx: Transaction, { pair }: Subjects): Promise<void> {
  await trx.deleteFrom('login_failures').where('subject', '=', pair).execute()
}
