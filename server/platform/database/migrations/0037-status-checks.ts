import { type Kysely, sql } from 'kysely'

export const toleratedBy = '0.1.0'
export const locks = []

// Commit statuses as they were sent last, to be read back and compared with what the service shows. One per hook and action,
// stored with the end of the final delivery, and removed with the action.
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements: string[] = [
  `create table status_checks (
    action_id bigint not null,
    hook_id uuid not null,
    event_id bigint not null,
    -- Whose token was sent: only that one asks.
    credential_id bigint not null,
    kind text not null,
    -- Where it was sent: names the repository and the commit.
    url text not null,
    context text not null,
    state text not null,
    link text not null,
    sent_at timestamptz(3) not null default now(),
    checks integer not null default 0 check (checks >= 0),
    repairs integer not null default 0 check (repairs >= 0),
    -- Null: not checked again.
    due_at timestamptz(3),
    leased_until timestamptz(3),
    remote_state text not null default 'not_checked'
      check (remote_state in ('matches', 'repaired', 'overridden', 'unknown', 'not_checked')),
    -- What the service showed, and what about it.
    remote_status text,
    remote_detail text,
    checked_at timestamptz(3),
    primary key (action_id, hook_id)
  )`,
  'create index status_checks_due on status_checks (due_at) where due_at is not null',
  'create index status_checks_subject on status_checks (url, context, action_id)',
]
