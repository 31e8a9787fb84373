import { type Kysely, sql } from 'kysely'

export const toleratedBy = '0.1.0'

// What a personal token may be used for, and where. Null does not limit it, as for every token that exists today.
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements: string[] = [
  `alter table tokens
    add column scopes text[] check (scopes <@ array['read', 'run', 'hooks', 'manage'] and cardinality(scopes) > 0),
    add column organization_ids bigint[] check (cardinality(organization_ids) > 0),
    add column project_ids bigint[] check (cardinality(project_ids) > 0),
    add column used_ip text`,
  // Only personal tokens are limited; a login acts as its user.
  `alter table tokens add constraint tokens_limited
    check (kind = 'personal' or scopes is null and organization_ids is null and project_ids is null)`,
]
