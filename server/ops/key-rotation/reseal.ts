import { setTimeout as pause } from 'node:timers/promises'
import { sql, type Transaction } from 'kysely'
import { keyId, type SecretBox } from '#platform/crypto/secret-box.ts'
import type { Database } from '#platform/database/connect.ts'
import type { Tables } from '#platform/database/tables.ts'
import { SEALED_COLUMNS, type SealedColumn } from './sealed-columns.ts'

export type Resealing = {
  db: Database
  /** Its first key is `key`; it also opens what older ones have sealed. */
  box: SecretBox
  key: Buffer
  signal: AbortSignal
}

export type Pass = {
  resealed: number
  /** Places of values that no key here opens. They could not be opened before either. */
  unreadable: string[]
}

type Row = { key: string; sealed: Buffer }

const BATCH = 200
/** A changed hook is a change of the tree, after which calls are judged anew: they get time to. */
const BREATH_MS = 25

/** Looks at every sealed value once, and seals again what is not under the key. Safe to repeat, and to cut short. */
export async function resealAll(resealing: Resealing): Promise<Pass> {
  const pass: Pass = { resealed: 0, unreadable: [] }
  for (const column of SEALED_COLUMNS) {
    let after: string | undefined
    do {
      resealing.signal.throwIfAborted()
      after = await resealing.db
        .transaction()
        .execute((trx) => resealBatch(trx, resealing, { column, after }, pass))
      if (after !== undefined) await pause(BREATH_MS, undefined, { signal: resealing.signal })
    } while (after !== undefined)
  }
  return pass
}

/** Returns where the next batch begins. A batch is short, and holds up only those who change the same rows. */
async function resealBatch(
  trx: Transaction<Tables>,
  { box, key }: Resealing,
  { column, after }: { column: SealedColumn; after: string | undefined },
  pass: Pass,
): Promise<string | undefined> {
  const rows = await holdRows(trx, column, keyId(key), after)
  for (const row of rows) {
    const place = column.place(row.key)
    const sealed = sealAgain(box, row.sealed, place)
    if (sealed === undefined) {
      pass.unreadable.push(`${column.table}.${column.column} of ${row.key}`)
      continue
    }
    await sql`
      update ${sql.table(column.table)} set ${sql.ref(column.column)} = ${sealed}
      where ${sql.ref(column.key)} = ${row.key}`.execute(trx)
    pass.resealed += 1
  }
  return rows.length < BATCH ? undefined : rows.at(-1)!.key
}

async function holdRows(
  trx: Transaction<Tables>,
  { table, column, key }: SealedColumn,
  current: Buffer,
  after: string | undefined,
): Promise<Row[]> {
  // The id of its key stands behind the first byte of a sealed value.
  const { rows } = await sql<Row>`
    select ${sql.ref(key)}::text as key, ${sql.ref(column)} as sealed from ${sql.table(table)}
    where substring(${sql.ref(column)} from 2 for 4) <> ${current}
      and ${after === undefined ? sql`true` : sql`${sql.ref(key)} > ${after}`}
    order by ${sql.ref(key)} limit ${BATCH} for no key update`.execute(trx)
  return rows
}

function sealAgain(box: SecretBox, sealed: Buffer, place: string): Buffer | undefined {
  try {
    return box.seal(box.open(sealed, place), place)
  } catch {
    return undefined
  }
}
