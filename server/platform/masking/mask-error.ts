/** A copy of what was thrown, for a log, without secrets in its texts. It has no cause, which may quote more. */
export function maskError(thrown: unknown, mask: (text: string) => string): Error {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown))
  const { name, code } = error as NodeJS.ErrnoException
  return Object.assign(new Error(mask(error.message)), { name, code, stack: mask(error.stack ?? '') })
}
