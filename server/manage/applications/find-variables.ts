import type { Selectable } from 'kysely'
import { variableAad } from '#model/inventory/sealed-aad.ts'
import type { SecretBox } from '#platform/crypto/secret-box.ts'
import type { Database } from '#platform/database/connect.ts'
import type { ApplicationVariablesTable } from '#platform/database/tables.ts'
import type { Extent, Page } from '#platform/http/pagination.ts'
import { readPage } from '#platform/http/read-page.ts'
import { MASK } from '#platform/masking/masked.ts'
import type { ApplicationVariable } from './schemas.ts'

export type VariableRow = Selectable<ApplicationVariablesTable> & { row_version: string }

function selectVariables(db: Database, applicationId: number) {
  return (
    db
      .selectFrom('application_variables')
      .selectAll()
      // Changes with every update of the row: the record's ETag.
      .select((eb) =>
        eb
          .ref('xmin' as 'id')
          .$castTo<string>()
          .as('row_version'),
      )
      .where('application_id', '=', applicationId)
  )
}

export function findVariable(
  db: Database,
  applicationId: number,
  id: number,
): Promise<VariableRow | undefined> {
  return selectVariables(db, applicationId).where('id', '=', id).executeTakeFirst()
}

/** The variables of an application, newest first. */
export function listVariables(
  db: Database,
  applicationId: number,
  name: string | undefined,
  page: Page,
): Promise<{ rows: VariableRow[]; extent: Extent }> {
  const query = selectVariables(db, applicationId)
  return readPage(query, 'application_variables', page, name)
}

/** What is not hidden is often a secret all the same: only those who could change it read it. */
export function presentVariable(
  row: VariableRow,
  { box, mayEdit }: { box: SecretBox; mayEdit: boolean },
): ApplicationVariable {
  const { id, name, hidden, created_at, updated_at } = row
  const value = mayEdit && !hidden ? box.open(row.value, variableAad(id)) : MASK
  return { id, name, value, hidden, created_at, updated_at }
}
