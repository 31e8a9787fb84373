import { type Kysely, sql } from 'kysely'

export const toleratedBy = '0.1.0'
export const locks = ['hook_connections', 'credentials']

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements: string[] = [
  // Sealed: the webhook that was removed at the host to be created again; null while there is none.
  'alter table hook_connections add column replaced bytea',
  'alter table hook_connections add column state_since timestamptz(3) not null default now()',
  // The credential of an organization that was removed keeps its secret until its webhooks are removed at their hosts.
  `alter table credentials drop constraint credentials_secret,
    add constraint credentials_secret check (deleted_at is not null or (auth_type = 'none') = (secret is null))`,
]
