// The key rotation room: every secret at rest is sealed again with a new master key, while the service works. This
// file lists where sealed values are; a test holds the list against the columns that the database has.
import { hookSecretAad, urlTokenAad } from '#model/hooks/present-hook.ts'
import { credentialAad, variableAad } from '#model/inventory/sealed-aad.ts'

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
  { table: 'hooks', column: 'secret', key: 'id', place: hookSecretAad },
  // Bound to the place that it was sealed for, when it was the secret.
  { table: 'hooks', column: 'previous_secret', key: 'id', place: hookSecretAad },
  { table: 'hooks', column: 'url_token', key: 'id', place: urlTokenAad },
  { table: 'credentials', column: 'secret', key: 'id', place: (id) => credentialAad(Number(id)) },
  { table: 'application_variables', column: 'value', key: 'id', place: (id) => variableAad(Number(id)) },
]
