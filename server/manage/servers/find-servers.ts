import { type Selectable, sql } from 'kysely'
import type { Database } from '#platform/database/connect.ts'
import type { ServersTable } from '#platform/database/tables.ts'
import type { Extent, Page } from '#platform/http/pagination.ts'
import { readPage } from '#platform/http/read-page.ts'

export type ServerRow = Selectable<ServersTable> & {
  project_id: number
  /** The applications that are deployed there. */
  application_ids: number[]
  row_version: string
}

/** Servers that are there; a removed one is not. */
function selectServers(db: Database) {
  return db
    .selectFrom('servers')
    .innerJoin('environments', 'environments.id', 'servers.environment_id')
    .selectAll('servers')
    .select((eb) => [
      'environments.project_id',
      sql<number[]>`array(select application_id from application_servers
        where server_id = ${eb.ref('servers.id')} order by 1)`.as('application_ids'),
      // Changes with every update of the row: the record's ETag.
      eb
        .ref('servers.xmin' as 'servers.id')
        .$castTo<string>()
        .as('row_version'),
    ])
    .where('servers.deleted_at', 'is', null)
}

export function findServer(
  db: Database,
  id: number,
  options: { lock?: boolean } = {},
): Promise<ServerRow | undefined> {
  const query = selectServers(db).where('servers.id', '=', id)
  return (options.lock ? query.forNoKeyUpdate('servers') : query).executeTakeFirst()
}

/** The servers of an environment, newest first. */
export function listServers(
  db: Database,
  environmentId: number,
  name: string | undefined,
  page: Page,
): Promise<{ rows: ServerRow[]; extent: Extent }> {
  const query = selectServers(db).where('servers.environment_id', '=', environmentId)
  return readPage(query, 'servers', page, name)
}
