import { sql } from 'kysely'
import type { Transaction } from './connect.ts'

// What PostgreSQL 15 to 17 lack. Version 18 has `uuidv7` itself: in `pg_catalog`, which always comes first.

/**
 * The time in milliseconds, then its fraction in 12 bits, then chance: like the function of version 18, but ids of the
 * same microsecond are in no order.
 */
export const UUIDV7 = `
  select (lpad(to_hex(us / 1000), 12, '0') || '7' || lpad(to_hex(us % 1000 * 4096 / 1000), 3, '0')
    || right(replace(gen_random_uuid()::text, '-', ''), 16))::uuid
  from (select (extract(epoch from clock_timestamp() + $1) * 1000000)::bigint as us) as moment`

/** Adds missing functions to the schema, before the first migration needs them. */
export async function provideFunctions(trx: Transaction): Promise<void> {
  const { rows } = await sql`select where to_regprocedure('uuidv7()') is null`.execute(trx)
  if (rows.length === 0) return
  await sql`create function uuidv7(shift interval) returns uuid language sql volatile parallel safe
    as ${sql.lit(UUIDV7)}`.execute(trx)
  await sql`create function uuidv7() returns uuid language sql volatile parallel safe
    as 'select uuidv7(interval ''0'')'`.execute(trx)
}
