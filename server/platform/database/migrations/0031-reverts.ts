import { type Kysely, sql } from 'kysely'

export const toleratedBy = '0.1.0'
export const locks = ['pipelines', 'pipeline_steps', 'targets']

// What happens when a step fails after activation. Pipelines of today keep the new release, as they always did, and so
// do those that an older release creates. A target remembers what was live on its server before it.
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements: string[] = [
  `alter table pipelines add column on_failure text not null default 'keep'
    constraint pipelines_on_failure check (on_failure in ('revert', 'keep'))`,

  `alter table pipeline_steps
    add column irreversible boolean not null default false,
    add column run_on_revert boolean not null default false`,

  'alter table targets add column live_before jsonb',
]
