import { type Kysely, sql } from 'kysely'

export const toleratedBy = '0.1.0'
export const locks = ['hooks']

// Webhooks that Gantry created at repository hosts, and those that it still has to remove there. A connection never just
// disappears: whatever removes it, removing its webhook becomes work of its own. The release before knows neither; hooks that
// it removes lose their webhooks, too.
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements: string[] = [
  `create table hook_connections (
    hook_id uuid primary key,
    -- Requests act for this user, with this credential.
    user_id bigint not null,
    credential_id bigint not null,
    provider text not null check (provider in ('github', 'gitlab', 'gitea')),
    api_url text not null,
    home_url text not null,
    repository text not null,
    events text[] not null,
    -- At the host; null until it is known.
    webhook_id text,
    state text not null default 'connecting' check (state in
      ('connecting', 'connected', 'missing', 'changed', 'disabled', 'forbidden', 'unreachable')),
    problem text,
    disabled_until timestamptz(3),
    checked_at timestamptz(3),
    -- What is to be done next. Every request raises the version: what was begun before does not end it.
    task text not null default 'connect' check (task in ('connect', 'rotate', 'check')),
    version integer not null default 1,
    -- How long the previous secret stays valid once the host has the new one; null: there is none.
    overlap_seconds integer,
    -- When a call was last rejected for its signature, and whether the host says that it was the host's.
    rejected_at timestamptz(3),
    has_other_secret boolean not null default false,
    failures integer not null default 0,
    due_at timestamptz(3) not null default now(),
    leased_until timestamptz(3),
    created_at timestamptz(3) not null default now()
  )`,
  'create index hook_connections_due on hook_connections (due_at)',
  `create table webhook_removals (
    id bigint generated always as identity primary key,
    hook_id uuid not null,
    user_id bigint not null,
    credential_id bigint not null,
    provider text not null,
    api_url text not null,
    home_url text not null,
    repository text not null,
    webhook_id text,
    -- Recognizes the webhook when its id is not known: the hash of the last part of the hook's URL.
    url_token_hash bytea,
    problem text,
    failures integer not null default 0,
    due_at timestamptz(3) not null default now(),
    leased_until timestamptz(3),
    created_at timestamptz(3) not null default now()
  )`,
  'create index webhook_removals_due on webhook_removals (due_at)',
  'create index webhook_removals_hook on webhook_removals (hook_id)',
  `create function remove_webhook() returns trigger language plpgsql as $$
    begin
      insert into webhook_removals (hook_id, user_id, credential_id, provider, api_url, home_url, repository, webhook_id,
        url_token_hash, due_at)
      -- A worker may be creating the webhook right now: it has done so, or given up, when its lease ends.
      select old.hook_id, old.user_id, old.credential_id, old.provider, old.api_url, old.home_url, old.repository,
        old.webhook_id, (select h.url_token_hash from hooks h where h.id = old.hook_id),
        greatest(now(), old.leased_until);
      return null;
    end
  $$`,
  `create trigger remove_webhook after delete on hook_connections for each row execute function remove_webhook()`,
  // Before the update: afterwards the hook has no URL by which its webhook could be recognized.
  `create function disconnect_removed_hook() returns trigger language plpgsql as $$
    begin
      delete from hook_connections where hook_id = old.id;
      return new;
    end
  $$`,
  `create trigger disconnect_removed_hook before update of deleted_at on hooks for each row
    when (old.deleted_at is null and new.deleted_at is not null and old.type = 'incoming')
    execute function disconnect_removed_hook()`,
]
