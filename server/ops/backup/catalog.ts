import pg from 'pg'

// What the database reports about its tables. A new one is part of the next backup automatically.

export type Client = pg.ClientBase
export type TableShape = { name: string; columns: string[] }
export type Sequence = { name: string; next: string }

/** Written by the migrations themselves when a restore creates the tables. */
const BOOKKEEPING = ['schema_migrations', 'schema_migrations_lock']
/** The processes that run now, and the backups of this installation: none of them belongs to a restored one. */
const TRANSIENT = ['workers', 'newest_backup']

/** Without generated columns, which follow from the others, and unlogged tables, which are transient. */
export async function listTables(client: Client): Promise<TableShape[]> {
  const { rows } = await client.query<TableShape>(
    `select c.relname as name, array_agg(a.attname::text order by a.attnum) as columns
     from pg_class c
     join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
     where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
       and c.relpersistence = 'p' and c.relname <> all($1) ${NOT_OF_AN_EXTENSION}
     group by c.relname order by c.relname`,
    [[...BOOKKEEPING, ...TRANSIENT]],
  )
  return rows
}

/**
 * Sequences are not part of snapshots. Call this after the snapshot was taken: then no sequence returns a number that
 * a row of the snapshot has.
 */
export async function listSequences(client: Client): Promise<Sequence[]> {
  const { rows } = await client.query<{ name: string; fresh: string; step: string }>(
    `select c.relname as name, s.seqstart::text as fresh, s.seqincrement::text as step
     from pg_class c join pg_sequence s on s.seqrelid = c.oid
     where c.relnamespace = 'public'::regnamespace ${NOT_OF_AN_EXTENSION} order by c.relname`,
  )
  const sequences: Sequence[] = []
  for (const { name, fresh, step } of rows) {
    const state = await client.query<{ last: string; used: boolean }>(
      `select last_value::text as last, is_called as used from ${inPublic(name)}`,
    )
    const { last, used } = state.rows[0] ?? { last: fresh, used: false }
    sequences.push({ name, next: String(BigInt(last) + (used ? BigInt(step) : 0n)) })
  }
  return sequences
}

/** Statements that drop foreign keys and disable triggers during a restore, and the ones that restore them. */
export async function listConstraints(client: Client): Promise<{ remove: string[]; restore: string[] }> {
  const keys = await client.query<{ table: string; name: string; definition: string }>(
    `select c.relname as table, k.conname as name, pg_get_constraintdef(k.oid) as definition
     from pg_constraint k join pg_class c on c.oid = k.conrelid
     where k.contype = 'f' and k.conparentid = 0 and c.relnamespace = 'public'::regnamespace
     order by c.relname, k.conname`,
  )
  const triggers = await client.query<{ table: string; name: string }>(
    `select c.relname as table, t.tgname as name from pg_trigger t join pg_class c on c.oid = t.tgrelid
     where not t.tgisinternal and t.tgenabled = 'O' and t.tgparentid = 0
       and c.relnamespace = 'public'::regnamespace`,
  )
  return {
    remove: [
      ...keys.rows.map((key) => `alter table ${inPublic(key.table)} drop constraint ${quoted(key.name)}`),
      ...triggers.rows.map((one) => `alter table ${inPublic(one.table)} disable trigger ${quoted(one.name)}`),
    ],
    restore: [
      ...keys.rows.map(
        (key) => `alter table ${inPublic(key.table)} add constraint ${quoted(key.name)} ${key.definition}`,
      ),
      ...triggers.rows.map((one) => `alter table ${inPublic(one.table)} enable trigger ${quoted(one.name)}`),
    ],
  }
}

export function inPublic(name: string): string {
  return `public.${quoted(name)}`
}

export function quoted(name: string): string {
  return pg.escapeIdentifier(name)
}

const NOT_OF_AN_EXTENSION =
  "and not exists (select from pg_depend d where d.objid = c.oid and d.deptype = 'e')"
