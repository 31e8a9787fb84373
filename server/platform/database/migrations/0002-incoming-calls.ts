import { type Kysely, sql } from 'kysely'

export const toleratedBy = '0.1.0'

// What receiving calls needs: who was first with a delivery, what happened to actions, and a signal when
// something changes that processes keep in memory.
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements: string[] = [
  // The first call with a delivery id (and body) to a hook; later ones within a day are duplicates of it.
  `create table delivery_claims (
    hook_id uuid not null,
    key bytea not null check (octet_length(key) = 32),
    action_id bigint not null,
    claimed_at timestamptz(3) not null default now(),
    primary key (hook_id, key)
  )`,
  'create index delivery_claims_age on delivery_claims using brin (claimed_at)',

  // Every move of an action, and at the same time the event that tells of it. A creation has no previous
  // status. Which kinds of events a move is follows from the two statuses (actions/status.ts).
  `create table events (
    id bigint generated always as identity primary key,
    action_id bigint not null,
    previous_status text,
    status text not null,
    status_reason_code text not null,
    occurred_at timestamptz(3) not null default now()
  )`,
  'create index events_action on events (action_id, id)',

  // Calls are listed by their ids, which are made from the time (UUID version 7).
  'drop index hook_requests_hook',
  'drop index hook_requests_action',
  'create index hook_requests_hook on hook_requests (hook_id, id desc)',
  'create index hook_requests_action on hook_requests (action_id, id desc) where action_id is not null',
  'alter table hook_requests alter column request_headers type json using request_headers::json',
  'alter table hook_requests alter column response_headers type json using response_headers::json',
  'alter table hook_requests add column content_type text',
  // Bodies of usual size stay in their row; moving them elsewhere in pieces costs more than it saves.
  'alter table hook_requests set (toast_tuple_target = 8160)',
  'create index hook_requests_age on hook_requests using brin (created_at)',
  'alter table hook_requests drop constraint hook_requests_action_id_fkey',
  'alter table actions drop constraint actions_credential_id_fkey',

  // Refused calls beyond the first few of an hour are counted, not kept.
  `create table refused_calls (
    hook_id uuid not null references hooks,
    hour timestamptz(3) not null,
    outcome text not null check (outcome in ('rejected_signature', 'rate_limited')),
    calls integer not null check (calls > 0),
    primary key (hook_id, hour, outcome)
  )`,

  // A change of the tree is also told to whoever listens, and hooks, steps and links are part of it.
  `create or replace function raise_tree_version() returns trigger language plpgsql as $$
    begin
      update tree_version set version = version + 1;
      perform pg_notify('tree', '');
      return null;
    end $$`,
  ...['hooks', 'pipeline_steps', 'application_servers'].map(
    (table) => `create constraint trigger raise_tree_version after insert or update or delete on ${table}
      deferrable initially deferred for each row execute function raise_tree_version()`,
  ),
]
