/**
 * An SQL expression for the state of the whole database: which transactions a statement sees the work of, and the
 * month, on which some answers depend. Two statements that get the same text see the same data, so what was
 * worked out for the one is good for the other. It is cheap, because it reads no table; any write by anybody,
 * once begun or committed, changes it.
 */
export const DATABASE_STATE = `pg_current_snapshot()::text || to_char(now(), ' YYYY-MM')`
