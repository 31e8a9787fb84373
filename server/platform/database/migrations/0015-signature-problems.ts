import { type Kysely, sql } from 'kysely'

export const toleratedBy = '0.1.0'

// What a user who sets up a hook needs to know about a call that was rejected for its signature: why, and how large its
// body was, which is not stored.
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements: string[] = [
  'alter table hook_requests add column signature_problem text',
  'alter table hook_requests add column body_bytes integer',
]
