import { type Kysely, sql } from 'kysely'

export const toleratedBy = '0.1.0'
export const locks = ['credentials', 'hooks']

// The credential whose token an outgoing hook sends, and credentials of chat services.
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements: string[] = [
  `alter table credentials drop constraint credentials_provider_code_check,
    add constraint credentials_provider_code_check check
      (provider_code in ('github', 'gitlab', 'bitbucket', 'gitea', 'git', 'ssh', 'slack', 'discord'))`,

  // Null: the credential of the application.
  `alter table hooks add column credential_id bigint references credentials,
    add constraint hooks_credential_id check (credential_id is null or type = 'outgoing')`,
  'create index hooks_credential_id on hooks (credential_id) where credential_id is not null',
]
