import { type Kysely, sql } from 'kysely'

export const toleratedBy = '0.1.0'

// What telling the world needs: who is to be told of which event, how far that has come, and how the
// receiver behind each hook is doing.
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements: string[] = [
  // One event for one hook. Within one action and hook they are sent in the order of their events; the first
  // that is pending holds the others back. A delivery with a lease is being tried by some process. The id is what
  // receivers know it by. Pages are kept half empty: a claim then changes no index, which is most of its price.
  `create table deliveries (
    hook_id uuid not null,
    event_id bigint not null,
    id uuid not null default uuidv7(),
    action_id bigint not null,
    is_final boolean not null,
    state text not null default 'pending'
      check (state in ('pending', 'delivered', 'failed', 'superseded', 'missed', 'ignored')),
    attempts integer not null default 0 check (attempts >= 0),
    due_at timestamptz(3) not null default now(),
    leased_until timestamptz(3),
    first_request_id uuid,
    last_request_id uuid,
    asked_by bigint references users,
    created_at timestamptz(3) not null default now(),
    primary key (hook_id, event_id)
  ) with (fillfactor = 50)`,
  `create index deliveries_due on deliveries (hook_id, due_at) where state = 'pending'`,
  `create index deliveries_order on deliveries (action_id, event_id) where state = 'pending'`,

  // A hook without a row here is well.
  `create table hook_health (
    hook_id uuid primary key references hooks,
    failures_in_a_row integer not null default 0 check (failures_in_a_row >= 0),
    open_until timestamptz(3),
    failing_since timestamptz(3),
    failed_deliveries integer not null default 0 check (failed_deliveries >= 0),
    gone_answers integer not null default 0 check (gone_answers >= 0),
    warned_at timestamptz(3)
  )`,

  // Why an attempt failed, in words; of which event it told, and which attempt it was.
  'alter table hook_requests add column error text',
  'alter table hook_requests add column event_id bigint',
  'alter table hook_requests add column attempt integer',
  // Hooks are never deleted (docs/decisions/0007), and of all that storing a record costs this was a tenth.
  'alter table hook_requests drop constraint hook_requests_hook_id_fkey',
  // Events of a time, for sending again what was missed.
  'create index events_age on events using brin (occurred_at)',
  `create index hooks_outgoing on hooks (pipeline_id) where type = 'outgoing' and active and deleted_at is null`,
]
