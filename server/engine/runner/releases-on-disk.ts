// Which releases may be on the disk of a server: their runs are never removed (ops/retention). What is recorded contains
// at least what is there: a release is recorded before its folder exists, and forgotten after a list without it.
import { sql } from 'kysely'
import type { Database } from '#platform/database/connect.ts'

type Disk = { applicationId: number; serverId: number }

/** Longer than a step may take: a release that was recorded more recently may be about to appear. */
const SETTLES_AFTER = sql`interval '2 days'`

/** `names`: what a list of the server's releases has just shown. */
export async function replaceReleases(
  db: Database,
  { applicationId, serverId }: Disk,
  names: readonly string[],
): Promise<void> {
  await recordReleases(db, { applicationId, serverId }, names)
  await sql`
    delete from releases_on_disk where application_id = ${applicationId} and server_id = ${serverId}
      and release_name <> all(${names}::text[]) and recorded_at < now() - ${SETTLES_AFTER}`.execute(db)
}

export async function recordReleases(
  db: Database,
  { applicationId, serverId }: Disk,
  names: readonly string[],
): Promise<void> {
  await sql`
    insert into releases_on_disk (application_id, release_name, server_id)
    select ${applicationId}::bigint, name, ${serverId}::bigint from unnest(${names}::text[]) as name
    on conflict do nothing`.execute(db)
}
