// The live room: what each server of an application serves, as Gantry knows it. A server has a row in `live_releases`
// (known), one in `unknown_live_releases`, or none (nothing is live). What servers say is read by commands of
// model/deploy, judged here (judge-reading), and stored here; nothing else writes the two tables.
import { type RawBuilder, sql } from 'kysely'
import type { Database, Transaction } from '#platform/database/connect.ts'

/** An application on a server. */
export type Disk = { applicationId: number; serverId: number }

export type Release = { actionId: number; releaseName: string; commitSha: string | null }

/**
 * SQL: what is stored about a disk, as a text that changes with every change of it. Read it before the server is asked, and
 * compare it when the answer is stored: another run may have switched, and stored that, in between.
 */
export function liveVersion(
  applicationId: RawBuilder<unknown>,
  serverId: RawBuilder<unknown>,
): RawBuilder<string> {
  return sql`coalesce(
    (select concat_ws(' ', 'known', action_id, release_name, extract(epoch from since)) from live_releases
      where application_id = ${applicationId} and server_id = ${serverId}),
    (select concat_ws(' ', 'unknown', extract(epoch from changed_at)) from unknown_live_releases
      where application_id = ${applicationId} and server_id = ${serverId}),
    'nothing')`
}

export async function readVersion(db: Database, { applicationId, serverId }: Disk): Promise<string> {
  const { rows } = await sql<{ version: string }>`
    select ${liveVersion(sql`${applicationId}::bigint`, sql`${serverId}::bigint`)} as version`.execute(db)
  return rows[0]!.version
}

/** Whether a server that serves this, or nothing (null), is what a version says. */
export function isStoredAs(version: string, releaseName: string | null): boolean {
  const [state, , stored] = version.split(' ')
  return releaseName === null ? state === 'nothing' : state === 'known' && stored === releaseName
}

/** What a server may serve of which that is not known: neither may be removed. */
export async function findPossiblyLive(db: Database, { applicationId, serverId }: Disk): Promise<string[]> {
  const { rows } = await sql<{ names: (string | null)[] }>`
    select array[last_release_name, candidate_release_name] as names from unknown_live_releases
    where application_id = ${applicationId} and server_id = ${serverId}`.execute(db)
  return rows.flatMap(({ names }) => names).filter((name) => name !== null)
}

/**
 * One writer at a time per application. Processes of an older release read `live_action_id`, which a trigger watches for
 * what only they store.
 */
export async function lockLive(trx: Transaction, applicationId: number): Promise<void> {
  await sql`
    select set_config('gantry.live_recorded', 'on', true) from applications
    where id = ${applicationId} for no key update`.execute(trx)
}

/** From the moment a server serves it, even if later steps fail. Under `lockLive`. */
export async function storeKnown(
  trx: Transaction,
  { applicationId, serverId }: Disk,
  { actionId, releaseName, commitSha }: Release,
): Promise<void> {
  await sql`
    insert into live_releases (application_id, server_id, action_id, release_name, commit_sha)
    values (${applicationId}, ${serverId}, ${actionId}, ${releaseName}, ${commitSha})
    on conflict (application_id, server_id) do update
    set action_id = excluded.action_id, release_name = excluded.release_name, commit_sha = excluded.commit_sha,
      since = excluded.since`.execute(trx)
  await sql`
    delete from unknown_live_releases
    where application_id = ${applicationId} and server_id = ${serverId}`.execute(trx)
  await sql`
    insert into releases_on_disk (application_id, release_name, server_id, on_disk, was_live)
    values (${applicationId}, ${releaseName}, ${serverId}, true, true)
    on conflict (application_id, release_name, server_id) do update set on_disk = true, was_live = true`.execute(
    trx,
  )
  await updateNewest(trx, applicationId)
}

/** Under `lockLive`. */
export async function storeNothing(trx: Transaction, { applicationId, serverId }: Disk): Promise<void> {
  for (const table of ['live_releases', 'unknown_live_releases'] as const)
    await trx
      .deleteFrom(table)
      .where('application_id', '=', applicationId)
      .where('server_id', '=', serverId)
      .execute()
  await updateNewest(trx, applicationId)
}

export type Unknown = {
  /** For people. */
  reason: string
  /** Whose switch was interrupted. */
  targetId: number | null
  /** The run that may have made its release live instead. */
  candidate: Release | null
}

/** What was known stays with it. Nothing changes when the same is stored already. Under `lockLive`. */
export async function storeUnknown(
  trx: Transaction,
  { applicationId, serverId }: Disk,
  { reason, targetId, candidate }: Unknown,
): Promise<void> {
  const { actionId = null, releaseName = null, commitSha = null } = candidate ?? {}
  await sql`
    with known as (
      delete from live_releases where application_id = ${applicationId} and server_id = ${serverId}
      returning action_id, release_name, commit_sha, since
    )
    insert into unknown_live_releases as stored (application_id, server_id, reason, target_id, candidate_action_id,
      candidate_release_name, candidate_commit_sha, last_action_id, last_release_name, last_commit_sha, last_since)
    select ${applicationId}, ${serverId}, ${reason}, ${targetId}::bigint, ${actionId}::bigint, ${releaseName}::text,
      ${commitSha}::text, known.action_id, known.release_name, known.commit_sha, known.since
    from (select) as one left join known on true
    on conflict (application_id, server_id) do update
    set reason = excluded.reason, changed_at = excluded.changed_at, try_at = excluded.try_at,
      target_id = coalesce(excluded.target_id, stored.target_id),
      candidate_action_id = coalesce(excluded.candidate_action_id, stored.candidate_action_id),
      candidate_release_name = coalesce(excluded.candidate_release_name, stored.candidate_release_name),
      candidate_commit_sha = coalesce(excluded.candidate_commit_sha, stored.candidate_commit_sha)
    where (stored.reason, stored.target_id, stored.candidate_action_id) is distinct from (excluded.reason,
      coalesce(excluded.target_id, stored.target_id), coalesce(excluded.candidate_action_id, stored.candidate_action_id))`.execute(
    trx,
  )
  await updateNewest(trx, applicationId)
}

async function updateNewest(trx: Transaction, applicationId: number): Promise<void> {
  await sql`
    update applications set live_action_id = newest.action_id
    from (select max(action_id) as action_id from live_releases where application_id = ${applicationId}) as newest
    where id = ${applicationId} and live_action_id is distinct from newest.action_id`.execute(trx)
}
