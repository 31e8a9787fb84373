import { type Kysely, sql } from 'kysely'

export const toleratedBy = '0.1.0'
export const locks = ['credentials', 'deliveries']

// Until when a service accepts no more requests with the token of a credential. Processes of an older release do not
// know it, and send all the same.
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements: string[] = [
  // A row stays after its pause: deliveries that waited for it are sent final ones first (engine/outgoing).
  `create table rate_budgets (
    credential_id bigint not null references credentials on delete cascade,
    origin text not null check (length(origin) between 1 and 2048),
    paused_until timestamptz(3) not null,
    reason text not null,
    unnamed_pauses integer not null default 0 check (unnamed_pauses >= 0),
    primary key (credential_id, origin)
  )`,
  // After a pause, without reading everything that is not final.
  `create index deliveries_due_final on deliveries (hook_id, due_at, event_id) where state = 'pending' and is_final`,
]
