// The kinds of database failures that an operator has to tell apart, because each has another remedy. Pure.

/** Set on the error of a request that waited for a connection in vain while all of them were in use. */
export const POOL_EXHAUSTED = 'POOL_EXHAUSTED'

/** `event` and `remedy` make a log line; `sentence` is for people who run Gantry. */
export const OUTAGES = {
  unreachable: {
    event: 'database unreachable',
    sentence: 'The database cannot be reached.',
    remedy:
      'Check that PostgreSQL runs, that this process can connect to it, and that it has connections left (max_connections).',
  },
  unresponsive: {
    event: 'database unresponsive',
    sentence: 'The database accepts connections but does not answer in time.',
    remedy: 'Check the load, the disk and the network of the database server.',
  },
  read_only: {
    event: 'database read-only',
    sentence: 'The database is read-only.',
    remedy:
      'Connect Gantry to the primary, or promote this server; if it is the primary, turn default_transaction_read_only off.',
  },
  disk_full: {
    event: 'database disk full',
    sentence: 'The disk of the database is full: writes fail.',
    remedy: 'Free space on the disk of the database server, or enlarge it.',
  },
  pool_exhausted: {
    event: 'database connections of this process all in use',
    sentence: 'All database connections of this process are in use, and requests wait for one in vain.',
    remedy: 'End what holds them (long transactions, lock waits), or raise GANTRY_DATABASE_CONNECTIONS.',
  },
  lock_wait: {
    event: 'database lock not granted in time',
    sentence: 'Statements wait for a database lock that another transaction holds.',
    remedy:
      'End the transaction that holds the lock: the log line "waiting for a lock" names it, and so does pg_blocking_pids.',
  },
} satisfies Record<string, { event: string; sentence: string; remedy: string }>

export type OutageKind = keyof typeof OUTAGES
export const OUTAGE_KINDS = Object.keys(OUTAGES) as OutageKind[]

const KIND_BY_CODE: Record<string, OutageKind> = {
  [POOL_EXHAUSTED]: 'pool_exhausted',
  '40P01': 'lock_wait', // deadlock: with a migration, which takes more locks than we do
  '55P03': 'lock_wait', // lock timeout
  '53100': 'disk_full',
  '25006': 'read_only', // also a standby, during a failover
  '57014': 'unresponsive', // statement timeout
  '25P04': 'unresponsive', // transaction timeout
  '53200': 'unresponsive', // out of memory
  '53300': 'unreachable', // too many connections
  '55000': 'unreachable', // database not accepting connections
  '57P01': 'unreachable', // administrator shutdown
  '57P02': 'unreachable', // crash shutdown
  '57P03': 'unreachable', // cannot connect now
  ECONNREFUSED: 'unreachable',
  ECONNRESET: 'unreachable',
  ENOENT: 'unreachable', // the socket of a server that is not running
  EPIPE: 'unreachable',
  ETIMEDOUT: 'unreachable',
  EAI_AGAIN: 'unreachable',
  EHOSTUNREACH: 'unreachable',
  EMFILE: 'unreachable', // this process has no file descriptor left for a connection …
  ENETUNREACH: 'unreachable',
  ENFILE: 'unreachable', // … nor has the machine
  ENOTFOUND: 'unreachable',
}

/** Of `pg` and its pool, which have no codes. */
const SILENT =
  /^(Query read timeout|timeout exceeded when trying to connect|timeout expired|Connection terminated due to connection timeout)/
const DISCONNECTED =
  /^(Connection terminated|Client has encountered a connection error|Client was closed|the database system is)/

/** Null when the error says nothing about the state of the database. */
export function outageKind(error: unknown): OutageKind | null {
  if (!(error instanceof Error)) return null
  const { code = '', syscall, errors } = error as NodeJS.ErrnoException & { errors?: unknown[] }
  // A missing file is no missing socket.
  if (code === 'ENOENT' && syscall !== undefined && syscall !== 'connect') return null
  const byCode = code.startsWith('08') ? 'unreachable' : KIND_BY_CODE[code]
  const causes = [error.cause, ...(error instanceof AggregateError ? (errors ?? []) : [])].map(outageKind)
  // A connection that was given up in time is silent, unless its server had not even accepted it.
  if (byCode === undefined && SILENT.test(error.message))
    return isRefused(error.cause) ? 'unreachable' : 'unresponsive'
  return (
    byCode ??
    causes.find((kind) => kind !== null) ??
    (DISCONNECTED.test(error.message) ? 'unreachable' : null)
  )
}

/** Whether a connection failed before its server had accepted it: such errors have a code. */
function isRefused(cause: unknown): boolean {
  return cause instanceof Error && KIND_BY_CODE[(cause as NodeJS.ErrnoException).code ?? ''] === 'unreachable'
}
