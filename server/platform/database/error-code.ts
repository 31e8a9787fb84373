/** The SQLSTATE of a database error, or the code of the failed connection; null for errors that have none. */
export function codeOf(error: unknown): string | null {
  if (!(error instanceof Error)) return null
  const { code, cause } = error as NodeJS.ErrnoException & { cause?: unknown }
  if (typeof code === 'string') return code
  const [first] = error instanceof AggregateError ? error.errors : []
  return codeOf(first ?? cause)
}

/** Of an error that is logged in one line, without its stack. */
export function reasonOf(error: unknown): { reason: string; code: string | null } {
  return { reason: error instanceof Error ? error.message : String(error), code: codeOf(error) }
}
