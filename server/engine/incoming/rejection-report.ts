import { oncePer } from '#platform/once-per.ts'

/** What a rejected call says about itself in the log: no body, no token. */
export type Rejection = { status: number; code: string | null; reason: string | null; request_id: string }

/** `calls`: how many were rejected since the line before; `statuses`: how many of them with which status. */
export type ReportedRejections = {
  /** Null for calls whose hook is not known. */
  hook_id: string | null
  calls: number
  statuses: Record<string, number>
  /** Of the last call. */
  code: string | null
  reason: string | null
  request_id: string
}

const EVERY_MS = 60_000
const LOOK_EVERY_MS = 5_000

/**
 * Reports rejected calls once per hook and minute: the first one immediately, those of each minute after it together. A
 * flood, or an outage of the database, must not fill the disk with lines.
 */
export function createRejectionReport(write: (line: ReportedRejections) => void, now?: () => number) {
  const collected = new Map<string | null, ReportedRejections>()
  const isDue = oncePer(EVERY_MS, now)
  const timer = setInterval(() => flush(isDue), LOOK_EVERY_MS)
  timer.unref()

  function flush(mayReport: (hookId: string | null) => boolean): void {
    for (const [hookId, line] of collected) {
      if (!mayReport(hookId)) continue
      collected.delete(hookId)
      write(line)
    }
  }

  return {
    add(hookId: string | null, { status, ...last }: Rejection): void {
      const { calls = 0, statuses = {} } = collected.get(hookId) ?? {}
      statuses[status] = (statuses[status] ?? 0) + 1
      const line = { hook_id: hookId, calls: calls + 1, statuses, ...last }
      if (calls === 0 && isDue(hookId)) write(line)
      else collected.set(hookId, line)
    },
    flush: () => flush(isDue),
    close(): void {
      clearInterval(timer)
      flush(() => true)
    },
  }
}
