import { type Kysely, sql } from 'kysely'

export const toleratedBy = '0.1.0'
export const locks = ['applications']

// Whether the submodules of an application's repository ship with a release. Those that exist ship as before: without.
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table applications add column submodules text not null default 'ignore'
      check (submodules in ('fetch', 'ignore'))`.execute(db)
  await sql`alter table applications alter column submodules set default 'fetch'`.execute(db)
}
