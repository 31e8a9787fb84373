import { type Kysely, sql } from 'kysely'

export const toleratedBy = '0.1.0'
export const locks = ['organizations', 'environments', 'actions', 'users']

// When nothing may start: once, or every week. Without an environment, a freeze covers the whole organization.
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements: string[] = [
  `create table freezes (
    id bigint generated always as identity primary key,
    organization_id bigint not null references organizations,
    environment_id bigint references environments,
    name text not null,
    reason text not null,
    starts_at timestamptz(3),
    ends_at timestamptz(3),
    weekly jsonb,
    time_zone text,
    when_over text not null default 'all' check (when_over in ('all', 'latest')),
    created_by bigint not null references users,
    created_at timestamptz(3) not null default clock_timestamp(),
    updated_at timestamptz(3) not null default clock_timestamp(),
    constraint freezes_once_or_weekly check (
      starts_at is not null and weekly is null and time_zone is null and (ends_at is null or ends_at > starts_at)
      or starts_at is null and ends_at is null and weekly is not null and time_zone is not null)
  )`,
  'create index freezes_environment on freezes (environment_id) where environment_id is not null',
  'create index freezes_organization on freezes (organization_id) where environment_id is null',
  'create index freezes_creator on freezes (created_by)',

  // Environments with runs that a freeze holds, until the last one has left. 'all' wins when freezes overlap.
  `create table frozen_environments (
    environment_id bigint primary key references environments,
    since timestamptz(3) not null default clock_timestamp(),
    all_continue boolean not null
  )`,

  // What a person let through: the freezes that were in force then.
  `create table gate_overrides (
    id bigint generated always as identity primary key,
    action_id bigint not null references actions on delete cascade,
    gate text not null check (gate in ('checks', 'freeze')),
    reason text not null,
    freeze_ids bigint[] not null default '{}',
    user_id bigint not null references users,
    created_at timestamptz(3) not null default clock_timestamp()
  )`,
  'create index gate_overrides_action on gate_overrides (action_id)',
  'create index gate_overrides_user on gate_overrides (user_id)',
]
