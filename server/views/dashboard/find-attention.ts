import { sql } from 'kysely'
import type { Database } from '#platform/database/connect.ts'
import type { NeedsAttention } from './schemas.ts'

const MAX_ITEMS = 20

/** Servers of these environments whose live release is not known. */
export async function findAttention(
  db: Database,
  environmentIds: readonly number[],
): Promise<{ count: number; items: NeedsAttention[] }> {
  const { rows } = await sql<NeedsAttention & { count: number }>`
    select 'live_unknown' as kind, unknown.since, unknown.reason as detail,
      json_build_object('id', app.id, 'name', app.name) as application,
      json_build_object('id', s.id, 'name', s.name) as server, s.environment_id, count(*) over () as count
    from unknown_live_releases unknown
    join application_servers link using (application_id, server_id)
    join applications app on app.id = unknown.application_id
    join servers s on s.id = unknown.server_id
    where s.environment_id = any(${environmentIds}::bigint[])
    order by unknown.since desc, app.id, s.id limit ${MAX_ITEMS}::bigint`.execute(db)
  return { count: rows[0]?.count ?? 0, items: rows.map(({ count: _, ...item }) => item) }
}
