import { type Kysely, sql } from 'kysely'

// Sign-ins, tokens and other changes of accounts belong to no organization.
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements: string[] = ['alter table audit_entries alter column organization_id drop not null']
