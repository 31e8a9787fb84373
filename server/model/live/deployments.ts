// What is kept of every run that switched a server, for insights: it outlives the run. Written in the transaction that stores
// what is live; a repetition changes nothing.
import { type RawBuilder, sql } from 'kysely'
import { anyId } from '#platform/database/any-of.ts'
import type { Transaction } from '#platform/database/connect.ts'
import type { Disk } from './live-record.ts'

/** Git stores any number; PostgreSQL does not accept every year. */
const COMMITTED_AT = sql`case
  when a.commit ->> 'committed_at' ~ '^[12][0-9]{3}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}[.0-9]*Z$'
  then (a.commit ->> 'committed_at')::timestamptz end`

/** `replaced`: the commit that the server served before; null when nothing, or nothing known. */
export type Activation = { actionId: number; replaced: string | null; at?: RawBuilder<unknown> }

/** The run switched the server to its release. One that has ended brings its result along. Under `lockLive`. */
export async function recordActivation(
  trx: Transaction,
  { applicationId, serverId }: Disk,
  { actionId, replaced, at = sql`clock_timestamp()` }: Activation,
): Promise<void> {
  await sql`
    insert into deployments as stored (action_id, application_id, environment_id, is_rollback, commit_sha, committed_at,
      has_new_commit, server_ids, first_activated_at, last_activated_at, result, ended_at)
    select a.id, ${applicationId}, a.environment_id, coalesce(a.deployment ->> 'type' = 'rollback', false),
      a.commit ->> 'hash', ${COMMITTED_AT}, a.commit ->> 'hash' is distinct from ${replaced}, array[${serverId}::bigint],
      switched.at, switched.at, case when a.completed_at is not null then a.status_reason_code end, a.completed_at
    from actions a cross join (select ${at}::timestamptz(3) as at) as switched
    where a.id = ${actionId}
    on conflict (action_id) do update
    set has_new_commit = stored.has_new_commit or excluded.has_new_commit,
      server_ids = stored.server_ids || excluded.server_ids,
      first_activated_at = least(stored.first_activated_at, excluded.first_activated_at),
      last_activated_at = greatest(stored.last_activated_at, excluded.last_activated_at)
    where not stored.server_ids @> excluded.server_ids`.execute(trx)
}

/** The server serves the earlier release again. Under `lockLive`. */
export async function recordRevert(
  trx: Transaction,
  { serverId }: Pick<Disk, 'serverId'>,
  { actionId, at = sql`clock_timestamp()` }: Omit<Activation, 'replaced'>,
): Promise<void> {
  await sql`
    update deployments set reverted_server_ids = reverted_server_ids || ${serverId}::bigint,
      reverted_at = greatest(reverted_at, ${at}::timestamptz(3))
    where action_id = ${actionId} and server_ids @> array[${serverId}::bigint]
      and not reverted_server_ids @> array[${serverId}::bigint]`.execute(trx)
}

/** SQL, for a statement that ends runs: their results, from `moved` (`id`, `reason`, `completedAt`). */
export function recordResults(endedIds: readonly number[]): RawBuilder<unknown> {
  return sql`update deployments set result = moved.reason, ended_at = moved."completedAt" from moved
    where deployments.action_id = moved.id and deployments.action_id = ${anyId(endedIds)}`
}
