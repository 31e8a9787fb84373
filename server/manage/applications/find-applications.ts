import { type Selectable, sql } from 'kysely'
import type { Database } from '#platform/database/connect.ts'
import type { ApplicationsTable } from '#platform/database/tables.ts'
import type { Extent, Page } from '#platform/http/pagination.ts'
import { readPage } from '#platform/http/read-page.ts'

export type ApplicationRow = Selectable<ApplicationsTable> & {
  /** The servers that it is linked to. */
  server_ids: number[]
  row_version: string
}

/** Applications that are there; a removed one is not. */
function selectApplications(db: Database) {
  return db
    .selectFrom('applications')
    .selectAll()
    .select((eb) => [
      sql<number[]>`array(select server_id from application_servers
        where application_id = ${eb.ref('applications.id')} order by 1)`.as('server_ids'),
      // Changes with every update of the row: the record's ETag.
      eb
        .ref('applications.xmin' as 'applications.id')
        .$castTo<string>()
        .as('row_version'),
    ])
    .where('applications.deleted_at', 'is', null)
}

export function findApplication(
  db: Database,
  id: number,
  options: { lock?: boolean } = {},
): Promise<ApplicationRow | undefined> {
  const query = selectApplications(db).where('applications.id', '=', id)
  return (options.lock ? query.forNoKeyUpdate() : query).executeTakeFirst()
}

/** The applications of an environment, newest first. */
export function listApplications(
  db: Database,
  environmentId: number,
  name: string | undefined,
  page: Page,
): Promise<{ rows: ApplicationRow[]; extent: Extent }> {
  const query = selectApplications(db).where('applications.environment_id', '=', environmentId)
  return readPage(query, 'applications', page, name)
}
