import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'kysely'
import { hookSecretAad, replacedAad, urlTokenAad } from '#model/hooks/present-hook.ts'
import { capturedAad, credentialAad, variableAad } from '#model/inventory/sealed-aad.ts'
import { keyId, type SecretBox } from '#platform/crypto/secret-box.ts'
import type { Database, Transaction } from '#platform/database/connect.ts'

type SealedColumn = {
  table: string
  column: string
  /** The primary key, and what a value of that row is bound to. */
  key: string
  aad: (key: string) => string
}

/** Every column with sealed values; a test compares the list with the columns of the database. */
export const SEALED_COLUMNS: SealedColumn[] = [
  // First: a process that starts meanwhile reads it, and then reloads the key file.
  { table: 'key_check', column: 'sealed', key: 'only_row', aad: () => 'key_check' },
  { table: 'hooks', column: 'secret', key: 'id', aad: hookSecretAad },
  // Bound to what it was sealed for, as the current secret.
  { table: 'hooks', column: 'previous_secret', key: 'id', aad: hookSecretAad },
  { table: 'hooks', column: 'url_token', key: 'id', aad: urlTokenAad },
  { table: 'hook_connections', column: 'replaced', key: 'hook_id', aad: replacedAad },
  { table: 'credentials', column: 'secret', key: 'id', aad: (id) => credentialAad(Number(id)) },
  { table: 'captured_values', column: 'hidden', key: 'id', aad: capturedAad },
  { table: 'application_variables', column: 'value', key: 'id', aad: (id) => variableAad(Number(id)) },
]

export type Resealing = {
  db: Database
  /** Its first key is `key`; it also opens what older keys sealed. */
  box: SecretBox
  key: Buffer
  signal: AbortSignal
}

export type Resealed = {
  resealed: number
  /** Values that no installed key opens, as before. */
  unreadable: string[]
}

type Row = { key: string; sealed: Buffer }

const BATCH_SIZE = 200
/** A changed hook invalidates the tree that calls are checked against: leave time to reload it. */
const PAUSE_MS = 25

/** Visits every sealed value once, and reseals those with another key. Safe to repeat and to interrupt. */
export async function resealAll(resealing: Resealing): Promise<Resealed> {
  const result: Resealed = { resealed: 0, unreadable: [] }
  for (const column of SEALED_COLUMNS) {
    let after: string | undefined
    do {
      resealing.signal.throwIfAborted()
      after = await resealing.db
        .transaction()
        .execute((trx) => resealBatch(trx, resealing, column, after, result))
      if (after !== undefined) await pause(PAUSE_MS, undefined, { signal: resealing.signal })
    } while (after !== undefined)
  }
  return result
}

/** Returns where the next batch starts. A batch is short, and blocks only changes of the same rows. */
async function resealBatch(
  trx: Transaction,
  { box, key }: Resealing,
  column: SealedColumn,
  after: string | undefined,
  result: Resealed,
): Promise<string | undefined> {
  const rows = await lockRows(trx, column, keyId(key), after)
  for (const row of rows) {
    const sealed = reseal(box, row.sealed, column.aad(row.key))
    if (sealed === undefined) {
      result.unreadable.push(`${column.table}.${column.column} of ${row.key}`)
      continue
    }
    await sql`
      update ${sql.table(column.table)} set ${sql.ref(column.column)} = ${sealed}
      where ${sql.ref(column.key)} = ${row.key}`.execute(trx)
    result.resealed += 1
  }
  return rows.length < BATCH_SIZE ? undefined : rows.at(-1)!.key
}

async function lockRows(
  trx: Transaction,
  { table, column, key }: SealedColumn,
  current: Buffer,
  after: string | undefined,
): Promise<Row[]> {
  // A sealed value has the id of its key after the first byte.
  const { rows } = await sql<Row>`
    select ${sql.ref(key)}::text as key, ${sql.ref(column)} as sealed from ${sql.table(table)}
    where substring(${sql.ref(column)} from 2 for 4) <> ${current}
      and ${after === undefined ? sql`true` : sql`${sql.ref(key)} > ${after}`}
    order by ${sql.ref(key)} limit ${BATCH_SIZE} for no key update`.execute(trx)
  return rows
}

function reseal(box: SecretBox, sealed: Buffer, aad: string): Buffer | undefined {
  try {
    return box.seal(box.open(sealed, aad), aad)
  } catch {
    return undefined
  }
}
