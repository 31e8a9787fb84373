import { type Kysely, sql } from 'kysely'

export const toleratedBy = '0.1.0'

// Since when a hook is off, whoever switched it off: what it missed is counted from then. The database keeps it,
// because hooks are switched off in several places.
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements: string[] = [
  'alter table hooks add column off_since timestamptz(3)',
  'update hooks set off_since = coalesce(disabled_at, updated_at) where not active',
  // A table with events that wait for their triggers cannot be altered.
  'set constraints all immediate',
  'alter table hooks add check (active = (off_since is null))',
  'set constraints all deferred',
  `create function note_when_switched_off() returns trigger language plpgsql as $$
    begin
      new.off_since := case
        when new.active then null
        when tg_op = 'UPDATE' and old.active then now()
        else coalesce(new.off_since, now())
      end;
      return new;
    end $$`,
  `create trigger note_when_switched_off before insert or update on hooks
    for each row execute function note_when_switched_off()`,
]
