import { type Kysely, sql } from 'kysely'

export const toleratedBy = '0.1.0'

// Sign-ins, tokens and other changes of accounts belong to no organization. And exports need an order: ids are taken
// before the commit, so an entry with a smaller id may appear later than one with a larger id.
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements: string[] = [
  'alter table audit_entries alter column organization_id drop not null',

  'alter table audit_entries add column position bigint',
  'create sequence audit_position owned by audit_entries.position',
  'drop trigger append_only on audit_entries',
  'update audit_entries set position = id',
  `select setval('audit_position', coalesce(max(id), 0) + 1, false) from audit_entries`,
  'create unique index audit_entries_position on audit_entries (position)',
  'create index audit_entries_organization_position on audit_entries (organization_id, position)',

  // Positions are in commit order: they are taken during the commit, one transaction at a time, and the lock is
  // released when the entries are visible. It is the lock of raise_tree_version, which is also taken during the commit:
  // with two locks, two transactions could take them in different orders.
  `create function assign_audit_position() returns trigger language plpgsql as $$
    begin
      perform 1 from tree_version for no key update;
      update audit_entries set position = nextval('audit_position') where id = new.id and position is null;
      return null;
    end $$`,
  `create constraint trigger assign_audit_position after insert on audit_entries
    deferrable initially deferred for each row execute function assign_audit_position()`,

  // Assigning a position is the one change that an entry ever sees.
  `create function refuse_to_change_audit_entry() returns trigger language plpgsql as $$
    declare
      is_assignment boolean := pg_trigger_depth() > 1 and old.position is null and new.position is not null;
    begin
      old.position := new.position;
      if is_assignment and old::text = new::text then
        return new;
      end if;
      raise exception 'entries of % are never changed or removed', tg_table_name;
    end $$`,
  `create trigger unchanging before update on audit_entries
    for each row execute function refuse_to_change_audit_entry()`,
  `create trigger append_only before delete or truncate on audit_entries
    for each statement execute function refuse_to_change_history()`,
]
