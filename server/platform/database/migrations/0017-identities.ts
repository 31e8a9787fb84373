import { type Kysely, sql } from 'kysely'

export const toleratedBy = '0.1.0'

// Single sign-on: who an account is at the identity provider, sign-ins that are under way there, and roles that come
// from its groups.
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements: string[] = [
  `create table identities (
    id bigint generated always as identity primary key,
    user_id bigint not null references users on delete cascade,
    issuer text not null check (length(issuer) between 1 and 1024),
    subject text not null check (length(subject) between 1 and 255),
    created_at timestamptz(3) not null default now(),
    last_used_at timestamptz(3),
    unique (issuer, subject)
  )`,
  'create index identities_user on identities (user_id)',

  // Only hashes: the browser holds what the verifier and the nonce derive from. A crash or a restore loses the
  // attempts of ten minutes.
  `create unlogged table oidc_attempts (
    state_hash bytea primary key check (octet_length(state_hash) = 32),
    browser_hash bytea not null check (octet_length(browser_hash) = 32),
    network text not null,
    user_id bigint references users on delete cascade,
    token_id bigint references tokens on delete cascade,
    invitation_hash bytea check (octet_length(invitation_hash) = 32),
    expires_at timestamptz(3) not null,
    check ((user_id is null) = (token_id is null)),
    check (user_id is null or invitation_hash is null)
  )`,
  'create index oidc_attempts_network on oidc_attempts (network)',

  // Mapped from groups at each sign-in; the others were granted by people.
  `alter table grants add column source text not null default 'manual' check (source in ('manual', 'oidc'))`,
]
