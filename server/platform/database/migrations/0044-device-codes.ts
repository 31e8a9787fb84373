import { type Kysely, sql } from 'kysely'

export const toleratedBy = '0.1.0'
export const locks = ['sessions', 'tokens', 'users']

// Logins of command lines on machines without a browser, until somebody has approved them and the token was fetched.
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements: string[] = [
  // Both codes are stored as hashes. `token_id` is the browser session that approved: the approval ends with it. A crash
  // or a restore loses the logins of ten minutes.
  `create unlogged table device_codes (
    device_hash bytea primary key check (octet_length(device_hash) = 32),
    user_code_hash bytea not null unique check (octet_length(user_code_hash) = 32),
    name text not null check (length(name) between 1 and 50),
    ip_address text not null check (length(ip_address) <= 64),
    network text not null check (length(network) <= 64),
    state text not null default 'pending' check (state in ('pending', 'approved', 'denied')),
    user_id bigint references users on delete cascade,
    token_id bigint references tokens on delete cascade,
    polled_at timestamptz(3),
    expires_at timestamptz(3) not null,
    check ((state = 'approved') = (user_id is not null) and (user_id is null) = (token_id is null))
  )`,
  'create index device_codes_network on device_codes (network)',
  'create index device_codes_user on device_codes (user_id)',
  'create index device_codes_token on device_codes (token_id)',
  'alter table sessions add column wrong_codes smallint not null default 0',
]
