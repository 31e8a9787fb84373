// The key rotation room: every secret at rest is sealed again with a new master key, while the service works. This
// file lists where sealed values are; a test holds the list against the columns that the database has.
import { secretPlace, tokenPlace } from '#model/hooks/present-hook.ts'
import { credentialPlace, variablePlace } from '#model/inventory/secret-places.ts'

export type SealedColumn = {
  table: string
  column: string
  /** The primary key, and the place that a value of that row is bound to. */
  key: string
  place: (key: string) => string
}

export const SEALED_COLUMNS: SealedColumn[] = [
  // First: a process that starts meanwhile looks here, and then reads the key file anew.
  { table: 'key_check', column: 'sealed', key: 'only_row', place: () => 'key_check' },
  { table: 'hooks', column: 'secret', key: 'id', place: secretPlace },
  // Bound to the place that it was sealed for, when it was the secret.
  { table: 'hooks', column: 'previous_secret', key: 'id', place: secretPlace },
  { table: 'hooks', column: 'url_token', key: 'id', place: tokenPlace },
  { table: 'credentials', column: 'secret', key: 'id', place: (id) => credentialPlace(Number(id)) },
  { table: 'application_variables', column: 'value', key: 'id', place: (id) => variablePlace(Number(id)) },
]
