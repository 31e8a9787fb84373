/** Errors that say nothing about the statement: the server is away, starting, stopping, full, or has no room. */
const AWAY_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOENT', // the socket of a server that is not running
  'EPIPE',
  'ETIMEDOUT',
  'EAI_AGAIN',
  'ENOTFOUND',
  '53100', // disk full
  '53200', // out of memory
  '53300', // too many connections
  '55000', // database not accepting connections
  '57014', // the statement took too long
  '57P01', // administrator shutdown
  '57P02', // crash shutdown
  '57P03', // cannot connect now
  '57P05', // idle session timeout
  '25P03', // idle in transaction timeout
  '25P04', // transaction timeout
])

const AWAY_MESSAGES =
  /^(Connection terminated|timeout exceeded when trying to connect|timeout expired|Client has encountered a connection error|Client was closed|the database system is)/

/** True when the same work may well succeed later: the caller is told to come back, nothing is at fault. */
export function isDatabaseAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  if (error instanceof AggregateError && error.errors.some(isDatabaseAway)) return true
  const code = (error as NodeJS.ErrnoException).code ?? ''
  if (code.startsWith('08') || AWAY_CODES.has(code) || AWAY_MESSAGES.test(error.message)) return true
  return error.cause !== undefined && isDatabaseAway(error.cause)
}

/** A unique constraint was violated; `constraint` narrows it to one. */
export function isUniqueViolation(error: unknown, constraint?: string): boolean {
  const { code, constraint: violated } = error as { code?: string; constraint?: string }
  return code === '23505' && (constraint === undefined || violated === constraint)
}
