import { type SqlBool, sql } from 'kysely'
import type { Database } from '#platform/database/connect.ts'
import type { ResourceType } from '#platform/database/tables.ts'
import type { HttpProblem } from '#platform/http/problems.ts'

export type ResourceName = { type: ResourceType; id: number }

/**
 * Whether commands of this resource run on the machine of Gantry itself: it is a local server, or an
 * application that is linked to one. What runs there is for instance administrators to decide.
 */
export async function isLocalAffected(db: Database, { type, id }: ResourceName): Promise<boolean> {
  const { rows } = await sql<{ found: SqlBool }>`
    select exists (
      select from servers s
      where s.provider_code = 'local' and s.deleted_at is null and ${
        type === 'server'
          ? sql`s.id = ${id}`
          : sql`s.id in (select server_id from application_servers where application_id = ${id})`
      }) as found`.execute(db)
  return rows[0]!.found === true
}

export const LOCAL_ONLY =
  'What runs on the machine of this installation is for its administrators to decide; a local server is among the targets.'

/** Undefined when the caller may decide what this resource runs. */
export async function refuseLocal(
  db: Database,
  caller: { is_instance_admin: boolean },
  resource: ResourceName,
): Promise<HttpProblem | undefined> {
  if (caller.is_instance_admin || !(await isLocalAffected(db, resource))) return undefined
  return { kind: 'forbidden', reason: LOCAL_ONLY }
}
