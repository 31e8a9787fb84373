// Which releases may be on the disk of a server: their runs are never removed (ops/retention). What is recorded contains
// at least what is there: a release is recorded before its folder exists, and forgotten after a list without it. Those
// with `on_disk` are what the last list showed.
import { sql } from 'kysely'
import type { FoundReleases } from '#model/deploy/remove-old-releases.ts'
import type { Disk } from '#model/live/live-record.ts'
import type { Database } from '#platform/database/connect.ts'

/** Longer than a step may take: a release that was recorded more recently may be about to appear. */
const MAY_APPEAR_FOR = sql`interval '2 days'`

/** `releases`: what a list of the server's releases has just shown. */
export async function replaceReleases(
  db: Database,
  { applicationId, serverId }: Disk,
  releases: readonly Pick<FoundReleases['releases'][number], 'name' | 'wasLive'>[],
): Promise<void> {
  await sql`
    with found as (
      select name, was_live from unnest(${releases.map(({ name }) => name)}::text[],
        ${releases.map(({ wasLive }) => wasLive)}::boolean[]) as found (name, was_live)
    ), gone as (
      delete from releases_on_disk where application_id = ${applicationId} and server_id = ${serverId}
        and release_name not in (select name from found) and recorded_at < now() - ${MAY_APPEAR_FOR}
      returning release_name
    ), absent as (
      update releases_on_disk set on_disk = false where application_id = ${applicationId} and server_id = ${serverId}
        and release_name not in (select name from found) and recorded_at >= now() - ${MAY_APPEAR_FOR} and on_disk
    )
    insert into releases_on_disk (application_id, release_name, server_id, on_disk, was_live)
    select ${applicationId}::bigint, name, ${serverId}::bigint, true, was_live from found
    on conflict (application_id, release_name, server_id) do update set on_disk = true, was_live = excluded.was_live`.execute(
    db,
  )
}

/** The server removes them: they are shown no more. Their runs are kept until a list shows that they are gone. */
export async function hideReleases(
  db: Database,
  { applicationId, serverId }: Disk,
  names: readonly string[],
): Promise<void> {
  await sql`
    update releases_on_disk set on_disk = false
    where application_id = ${applicationId} and server_id = ${serverId} and release_name = any(${names}::text[])`.execute(
    db,
  )
}

/** Before its folder exists. */
export async function recordRelease(
  db: Database,
  { applicationId, serverId }: Disk,
  name: string,
): Promise<void> {
  await sql`
    insert into releases_on_disk (application_id, release_name, server_id)
    values (${applicationId}, ${name}, ${serverId}) on conflict do nothing`.execute(db)
}

/** As the last list showed it. */
export async function countOnDisk(db: Database, { applicationId, serverId }: Disk): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from releases_on_disk
    where application_id = ${applicationId} and server_id = ${serverId} and on_disk`.execute(db)
  return rows[0]!.count
}

/** Newest first. */
export async function findUnmeasured(db: Database, { applicationId, serverId }: Disk): Promise<string[]> {
  const { rows } = await sql<{ release_name: string }>`
    select release_name from releases_on_disk
    where application_id = ${applicationId} and server_id = ${serverId} and on_disk and size_bytes is null
    order by release_name desc`.execute(db)
  return rows.map((row) => row.release_name)
}

export async function recordSizes(
  db: Database,
  { applicationId, serverId }: Disk,
  sizes: ReadonlyMap<string, number>,
): Promise<void> {
  if (sizes.size === 0) return
  await sql`
    update releases_on_disk set size_bytes = measured.bytes
    from unnest(${[...sizes.keys()]}::text[], ${[...sizes.values()]}::bigint[]) as measured (name, bytes)
    where application_id = ${applicationId} and server_id = ${serverId} and release_name = measured.name`.execute(
    db,
  )
}
