/**
 * An SQL expression that identifies the state of the whole database: the transactions that a statement sees, and the
 * month, on which some responses depend. Two statements with the same value see the same data, so a result computed
 * for one is valid for the other. It is cheap, because it reads no table; every write, begun or committed, changes it.
 */
export const DATABASE_STATE = `pg_current_snapshot()::text || to_char(now(), ' YYYY-MM')`
