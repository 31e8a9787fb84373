import { type Kysely, sql } from 'kysely'

export const toleratedBy = '0.2.0'

// Sessions, the networks that accounts sign in from, password resets, and a notification for whatever ends access.
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements: string[] = [
  // One row for each login. Its tokens decide whether it is alive; this row says where it came from.
  `create table sessions (
    id bigint generated always as identity primary key,
    user_id bigint not null references users on delete cascade,
    family uuid not null unique,
    kind text not null check (kind in ('browser', 'api')),
    ip_address text,
    user_agent text check (length(user_agent) <= 255),
    created_at timestamptz(3) not null default now(),
    last_used_at timestamptz(3) not null default now()
  )`,
  'create index sessions_user on sessions (user_id, id)',
  `insert into sessions (user_id, family, kind, created_at, last_used_at)
    select user_id, family, case when bool_or(in_cookie) then 'browser' else 'api' end,
      min(created_at), max(coalesce(used_at, created_at))
    from tokens where family is not null group by user_id, family order by min(created_at)`,
  'alter table tokens add foreign key (family) references sessions (family) on delete cascade',

  // Guesses from elsewhere must not keep somebody out of the networks they sign in from.
  `create table sign_in_networks (
    user_id bigint not null references users on delete cascade,
    network text not null,
    signed_in_at timestamptz(3) not null default now(),
    primary key (user_id, network)
  )`,
  // Where earlier logins came from is not known, only when.
  `insert into sign_in_networks (user_id, network, signed_in_at)
    select user_id, '', max(created_at) from sessions group by user_id`,

  // One link for each account; only its SHA-256 is kept.
  `create table password_resets (
    user_id bigint primary key references users on delete cascade,
    hash bytea not null unique check (octet_length(hash) = 32),
    expires_at timestamptz(3) not null,
    created_at timestamptz(3) not null default now()
  )`,

  // Open streams end when access does. The payload is the id of the user, empty for everybody.
  `create function notify_access_ended() returns trigger language plpgsql as $$
    declare
      subject jsonb := case tg_op when 'DELETE' then to_jsonb(old) else to_jsonb(new) end;
    begin
      perform pg_notify('access', case when tg_nargs > 0 then subject ->> tg_argv[0] else '' end);
      return null;
    end $$`,
  `create trigger notify_access_ended after update of revoked_at on tokens for each row
    when (old.revoked_at is null and new.revoked_at is not null)
    execute function notify_access_ended('user_id')`,
  `create trigger notify_access_ended after update of active on users for each row
    when (old.active and not new.active) execute function notify_access_ended('id')`,
  `create trigger notify_access_ended after update or delete on grants for each row
    execute function notify_access_ended('user_id')`,
  `create trigger notify_access_ended after update of permissions on roles for each statement
    execute function notify_access_ended()`,
]
