import { pino } from 'pino'

/** More than this is written without waiting for the turn to end. */
const AT_MOST_BYTES = 8_192

/**
 * Where the log goes. The lines of one turn of the event loop are written together, after everything else in it: a write
 * for each line would take as long as storing a call does. What is left is written when the process exits.
 */
export function openLogStream(fd: number): { write(line: string): void } {
  const out = pino.destination({ fd, sync: true, minLength: AT_MOST_BYTES })
  let isScheduled = false
  const flush = () => {
    isScheduled = false
    out.flush()
  }
  process.on('exit', () => out.flushSync())
  return {
    write(line) {
      out.write(line)
      if (isScheduled) return
      isScheduled = true
      setImmediate(flush)
    },
  }
}
