import { type SqlBool, sql } from 'kysely'
import type { Database } from '#platform/database/connect.ts'
import type { ResourceType } from '#platform/database/tables.ts'
import type { HttpProblem } from '#platform/http/problems.ts'

export type ResourceName = { type: ResourceType; id: number }

export const LOCAL_ONLY =
  "Only instance administrators decide what runs on Gantry's own machine, and a local server is among the targets."

/**
 * Commands run on Gantry's own machine when the server is local, or the application is linked to a local server;
 * a credential decides where the source of its applications comes from. All of that takes an instance
 * administrator. Undefined when the caller may continue.
 */
export async function checkLocalAccess(
  db: Database,
  caller: { is_instance_admin: boolean },
  { type, id }: ResourceName | { type: 'credential'; id: number },
): Promise<HttpProblem | undefined> {
  if (caller.is_instance_admin) return undefined
  const servers = {
    server: sql`select ${id}::bigint`,
    application: sql`select server_id from application_servers where application_id = ${id}`,
    credential: sql`select l.server_id from application_servers l join applications a on a.id = l.application_id
      where a.credential_id = ${id}`,
  }
  const { rows } = await sql<{ found: SqlBool }>`
    select exists (
      select from servers
      where provider_code = 'local' and deleted_at is null and id in (${servers[type]})) as found`.execute(db)
  return rows[0]!.found ? { kind: 'forbidden', reason: LOCAL_ONLY } : undefined
}
