import { type Kysely, sql } from 'kysely'

export const toleratedBy = '0.1.0'
export const locks = ['actions', 'targets', 'pipelines', 'hooks', 'servers']

// Foreign keys that every call would pay for, row by row. Statements that insert runs check what they name once
// (model/actions/start-actions.ts); here is the other side: nothing that a run names may be removed, or become something
// else. Targets are inserted and removed with their action.
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements: string[] = [
  'alter table actions drop constraint actions_pipeline_id_environment_id_type_fkey',
  'alter table actions drop constraint actions_hook_id_fkey',
  'alter table targets drop constraint targets_server_id_fkey',

  // The row is locked before the trigger runs: what names it has committed by then, or waits.
  `create function keep_what_runs_name() returns trigger language plpgsql as $$
  declare is_named boolean;
  begin
    case tg_table_name
      when 'pipelines' then is_named := exists (select from actions where pipeline_id = old.id);
      when 'hooks' then is_named := exists (select from actions where hook_id = old.id);
      when 'servers' then is_named := exists (select from targets where server_id = old.id);
    end case;
    if is_named then
      raise foreign_key_violation using message = format('runs name this row of %I', tg_table_name);
    end if;
    if tg_op = 'DELETE' then return old; end if;
    return new;
  end $$`,
  ...['pipelines', 'hooks', 'servers'].map(
    (table) => `create trigger keep_what_runs_name before delete on ${table}
      for each row execute function keep_what_runs_name()`,
  ),
  `create trigger keep_what_runs_are before update of id, environment_id, operation on pipelines for each row
    when ((old.id, old.environment_id, old.operation) is distinct from (new.id, new.environment_id, new.operation))
    execute function keep_what_runs_name()`,
]
