// The settings of a session. They are set after connecting, and verified, because nothing else reaches every server:
// poolers ignore or reject settings in the startup packet, and `?options=` in DATABASE_URL replaces ours.

/** Identifies a connection's process on its server, also when another server uses the same number. */
export type Session = { pid: number; startedAt: string }

export type SessionSettings = Record<string, string>

/** As PostgreSQL prints them. Those that the server does not know (`transaction_timeout` before 17) are left out. */
const SETTINGS: SessionSettings = {
  // Our parsers read these forms only.
  TimeZone: 'UTC',
  DateStyle: 'ISO, MDY',
  IntervalStyle: 'postgres',
  bytea_output: 'hex',
  client_encoding: 'UTF8',
  standard_conforming_strings: 'on',
  extra_float_digits: '1',
  default_transaction_isolation: 'read committed',
  statement_timeout: '30s',
  // Far below the time that a caller waits: whoever waits for a lock knows soon that nothing happened.
  lock_timeout: '5s',
  transaction_timeout: '1min',
  idle_in_transaction_session_timeout: '1min',
  // Connections keep the plans of their statements. One that was made for an almost empty table would read all of it, and
  // go on when it has grown, until PostgreSQL gathers statistics.
  enable_seqscan: 'off',
  // Before PostgreSQL 18, a plan that cannot do without looks expensive enough to be compiled each time.
  jit: 'off',
}

/**
 * Over TCP, the server finds out within eleven seconds that a machine is gone. A socket reads these back as 0, and behind a
 * pooler they are between it and the server: they are not verified.
 */
const KEEPALIVES = `('tcp_keepalives_idle', '5'), ('tcp_keepalives_interval', '2'), ('tcp_keepalives_count', '3')`

/** For work that takes as long as it takes. */
export const WITHOUT_TIMEOUTS: SessionSettings = {
  statement_timeout: '0',
  lock_timeout: '0',
  transaction_timeout: '0',
  idle_in_transaction_session_timeout: '0',
}

export const WRITABILITY = `pg_is_in_recovery() as is_standby, current_setting('transaction_read_only') = 'on' as is_read_only`

/** The statement that sets a new session, in one round trip. The values are ours, never a user's. */
export function setSession(different: SessionSettings): string {
  const wanted = Object.entries({ ...SETTINGS, ...different })
    .map(([name, value]) => `('${name}', '${value}')`)
    .join(', ')
  return `
    select name, wanted, set_config(name, wanted, false) as value, pg_backend_pid() as pid,
      (select backend_start::text from pg_stat_activity where pid = pg_backend_pid()) as started_at,
      current_setting('synchronous_standby_names') <> '' as waits_for_standby,
      keepalives.set as keepalives, messages.english, ${WRITABILITY}
    from (values ${wanted}) as settings (name, wanted), (
      select count(set_config(name, value, false)) as set from (values ${KEEPALIVES}) as keepalive (name, value)
      where inet_client_addr() is not null
    ) as keepalives, (
      -- Messages end up in our log. Only where that is allowed: most servers speak English anyway.
      select count(set_config('lc_messages', 'C', false)) as english
      where has_parameter_privilege('lc_messages', 'SET')
    ) as messages
    where current_setting(name, true) is not null`
}

export type SessionRow = {
  name: string
  wanted: string
  value: string
  pid: number
  started_at: string
  waits_for_standby: boolean
} & Writability

export type Writability = { is_standby: boolean; is_read_only: boolean }

const READ_ONLY = '25006'

/** Throws when the settings of a new session do not apply: something between us and the server drops them. */
export function readSession(rows: readonly SessionRow[]): Session {
  const ignored = rows.find(({ wanted, value }) => wanted !== value)
  if (ignored)
    throw new Error(
      `The database server ignores settings: ${ignored.name} is ${ignored.value}, not ${ignored.wanted}.`,
    )
  return { pid: rows[0]!.pid, startedAt: rows[0]!.started_at }
}

/** Throws an outage when the server takes no writes: during a failover, another one will. */
export function assertWritable({ is_standby, is_read_only }: Writability): void {
  if (!is_standby && !is_read_only) return
  const state = is_standby ? 'is a standby, which is read-only' : 'is read-only'
  throw Object.assign(new Error(`The database server ${state}.`), { code: READ_ONLY })
}
