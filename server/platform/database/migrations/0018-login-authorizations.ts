import { type Kysely, sql } from 'kysely'

export const toleratedBy = '0.1.0'

// Logins of the command line that somebody approved in a browser, until the command line trades the code for a token.
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements: string[] = [
  // The code is stored as a hash. `token_id` is the browser session that approved: the code ends with it. A crash or a
  // restore loses the approvals of two minutes.
  `create unlogged table login_authorizations (
    code_hash bytea primary key check (octet_length(code_hash) = 32),
    code_challenge bytea not null check (octet_length(code_challenge) = 32),
    redirect_uri text not null check (length(redirect_uri) between 1 and 255),
    name text not null check (length(name) between 1 and 50),
    user_id bigint not null references users on delete cascade,
    token_id bigint not null references tokens on delete cascade,
    expires_at timestamptz(3) not null
  )`,
  'create index login_authorizations_user on login_authorizations (user_id)',
]
