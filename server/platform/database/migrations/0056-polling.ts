import { type Kysely, sql } from 'kysely'

export const toleratedBy = '0.1.0'
export const locks = []

// Repositories that Gantry asks for new commits, for hosts that cannot reach it, and the commit of each branch at the last time.
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements: string[] = [
  `create table hook_polls (
    hook_id uuid primary key,
    -- The repository that the stored commits are from.
    repository text,
    polled_at timestamptz(3),
    problem text,
    failures integer not null default 0,
    due_at timestamptz(3) not null default now(),
    leased_until timestamptz(3)
  )`,
  'create index hook_polls_due on hook_polls (due_at)',
  `create table polled_refs (
    hook_id uuid not null references hook_polls on delete cascade,
    branch text not null,
    tip text not null,
    -- How often it has moved.
    moves integer not null default 0,
    moved_at timestamptz(3),
    primary key (hook_id, branch)
  )`,
]
