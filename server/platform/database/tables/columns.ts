// Kinds of columns. Timestamps come out as ISO 8601 text (see connect.ts).
import type { ColumnType, GeneratedAlways } from 'kysely'

export type Id = GeneratedAlways<number>
export type Timestamp = ColumnType<string, string | Date | undefined, string | Date>
export type MaybeTimestamp = ColumnType<string | null, string | Date | null | undefined, string | Date | null>
/** Written as JSON text, read as a value. */
export type Json<Value> = ColumnType<Value, string, string>
export type MaybeJson<Value> = ColumnType<Value | null, string | null | undefined, string | null>

export type Dated = { created_at: Timestamp; updated_at: Timestamp }
/** Its row stays when it is removed, because runs reference it; see docs/decisions/0007. */
export type Retained = Dated & { deleted_at: MaybeTimestamp }
