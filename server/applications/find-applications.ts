import { type Selectable, sql } from 'kysely'
import type { Database } from '#database/connect.ts'
import type { ApplicationsTable } from '#database/tables.ts'
import type { Extent, Page } from '#http/pagination.ts'

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
export async function listApplications(
  db: Database,
  environmentId: number,
  name: string | undefined,
  page: Page,
): Promise<{ rows: ApplicationRow[]; extent: Extent }> {
  let query = selectApplications(db).where('applications.environment_id', '=', environmentId)
  if (name !== undefined)
    query = query.where(
      sql<boolean>`strpos(lower(${sql.ref('applications.name')}), lower(${name}::text)) > 0`,
    )
  const { total } = await query
    .clearSelect()
    .select(({ fn }) => fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow()
  const rows = await query.orderBy('applications.id', 'desc').limit(page.limit).offset(page.offset).execute()
  return { rows, extent: { total, hasMore: rows.length > 0 && page.offset + rows.length < total } }
}
