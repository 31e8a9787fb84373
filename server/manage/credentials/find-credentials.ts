import type { Selectable } from 'kysely'
import type { Database } from '#platform/database/connect.ts'
import type { CredentialsTable } from '#platform/database/tables.ts'
import type { Extent, Page } from '#platform/http/pagination.ts'
import { readPage } from '#platform/http/read-page.ts'

export type CredentialRow = Selectable<CredentialsTable> & { row_version: string }

/** Credentials that are there; a removed one is not. */
function selectCredentials(db: Database) {
  return db
    .selectFrom('credentials')
    .selectAll()
    .select((eb) =>
      // Changes with every update of the row: the record's ETag.
      eb
        .ref('credentials.xmin' as 'credentials.id')
        .$castTo<string>()
        .as('row_version'),
    )
    .where('credentials.deleted_at', 'is', null)
}

export function findCredential(
  db: Database,
  id: number,
  options: { lock?: boolean } = {},
): Promise<CredentialRow | undefined> {
  const query = selectCredentials(db).where('credentials.id', '=', id)
  return (options.lock ? query.forNoKeyUpdate() : query).executeTakeFirst()
}

/** The credentials of an organization, newest first. */
export function listCredentials(
  db: Database,
  organizationId: number,
  name: string | undefined,
  page: Page,
): Promise<{ rows: CredentialRow[]; extent: Extent }> {
  const query = selectCredentials(db).where('credentials.organization_id', '=', organizationId)
  return readPage(query, 'credentials', page, name)
}
