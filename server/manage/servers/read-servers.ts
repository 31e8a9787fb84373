import { sql } from 'kysely'
import { loadUsers } from '#access/accounts/load-users.ts'
import { readKnownHost } from '#adapters/executors/host-key.ts'
import { byId } from '#platform/database/any-of.ts'
import type { Database } from '#platform/database/connect.ts'
import { findById, rowVersion } from '#platform/database/rows.ts'
import type { Page } from '#platform/http/pagination.ts'
import { readPage } from '#platform/http/read-page.ts'
import * as t from '#platform/http/schemas.ts'
import { PROVIDERS } from '#platform/vocabulary.ts'
import { type Server, serverSchema } from './schemas.ts'

export type ServerRow = NonNullable<Awaited<ReturnType<typeof findServer>>>

/** All but removed ones; `application_ids` are the applications deployed there. */
function selectServers(db: Database) {
  return db
    .selectFrom('servers')
    .innerJoin('environments', 'environments.id', 'servers.environment_id')
    .selectAll('servers')
    .select((eb) => [
      'environments.project_id',
      sql<number[]>`array(select application_id from application_servers
        where server_id = ${eb.ref('servers.id')} order by 1)`.as('application_ids'),
      rowVersion('servers'),
    ])
    .where('servers.deleted_at', 'is', null)
}

export function findServer(db: Database, id: number, options?: { lock: boolean }) {
  return findById(selectServers(db), 'servers', id, options)
}

/** The servers of an environment, newest first. */
export function listServers(db: Database, environmentId: number, name: string | undefined, page: Page) {
  return readPage(
    selectServers(db).where('servers.environment_id', '=', environmentId),
    'servers',
    page,
    name,
  )
}

/** Rows of one environment as the API shows them. */
export async function presentServers(
  db: Database,
  rows: readonly ServerRow[],
  sees: { applications: boolean },
): Promise<Server[]> {
  const creators = rows.map((row) => row.created_by)
  const users = byId(await loadUsers(db, creators))
  return rows.map((row) =>
    t.pickFields(serverSchema, {
      ...row,
      provider_type: 'server',
      provider_name: row.provider_code,
      provider_name_human_readable: PROVIDERS[row.provider_code],
      host_key_fingerprint: row.host_key === null ? null : (readKnownHost(row.host_key)?.fingerprint ?? null),
      linked_resources: (sees.applications ? row.application_ids : []).map((id) => ({
        resource_type: 'application' as const,
        resource_id: id,
      })),
      created_by_user: users.get(row.created_by)!,
    }),
  )
}
