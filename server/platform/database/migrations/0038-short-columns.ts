import { type Kysely, sql } from 'kysely'

export const toleratedBy = '0.1.0'
export const locks = ['hook_requests']

// Short values stay in their row. Where a row is compressed, PostgreSQL otherwise moves them into another table first: one
// more row and index entry for each call, for a URL of 45 bytes.
export async function up(db: Kysely<unknown>): Promise<void> {
  const actions = SHORT.map((column) => `alter column ${column} set storage main`)
  await sql.raw(`alter table hook_requests ${actions.join(', ')}`).execute(db)
}

const SHORT = [
  'type',
  'ip_address',
  'url',
  'method',
  'outcome',
  'content_type',
  'error',
  'signature_problem',
  'event_kind',
  'capture_error',
]
