import { type Kysely, sql } from 'kysely'

export const toleratedBy = '0.1.0'
export const locks = ['gate_overrides', 'frozen_environments', 'pipelines', 'environments']

// What an override covers, what continues after a freeze, and what a newer run supersedes: each may take several transactions,
// or outlast the moment in which it was decided.
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements: string[] = [
  // When each of the freezes began that were in force, in the order of freeze_ids. Where it is missing, the release before
  // stored the override: it covers the windows that were open when it was given.
  `alter table gate_overrides add column freeze_starts timestamptz(3)[] not null default '{}'`,
  // When the first of the held runs was released; null while they are held.
  'alter table frozen_environments add column thawed_at timestamptz(3)',
  // Pipelines with runs of hooks that are older than `newest` and will be skipped.
  `create table superseded_pipelines (
    pipeline_id bigint primary key references pipelines on delete cascade,
    environment_id bigint not null references environments,
    newest bigint not null
  )`,
  'create index superseded_pipelines_environment on superseded_pipelines (environment_id)',
]
