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
export function createRejectionReport(
  write: (line: ReportedRejections) => void,
  now: () => number = () => performance.now(),
) {
  type Open = { reportedAt: number; calls: number; statuses: Record<string, number>; last: Rejection }
  const hooks = new Map<string | null, Open>()
  const timer = setInterval(() => flush(EVERY_MS), LOOK_EVERY_MS)
  timer.unref()

  function report(hookId: string | null, { calls, statuses, last }: Open): void {
    const { code, reason, request_id } = last
    write({ hook_id: hookId, calls, statuses, code, reason, request_id })
  }

  /** Reports what was collected for this long; a hook that had no rejected call meanwhile starts over. */
  function flush(forMs: number): void {
    for (const [hookId, open] of hooks) {
      if (now() - open.reportedAt < forMs) continue
      if (open.calls === 0) hooks.delete(hookId)
      else {
        report(hookId, open)
        hooks.set(hookId, { ...open, reportedAt: now(), calls: 0, statuses: {} })
      }
    }
  }

  return {
    add(hookId: string | null, rejection: Rejection): void {
      const open = hooks.get(hookId)
      const statuses = { ...open?.statuses }
      statuses[rejection.status] = (statuses[rejection.status] ?? 0) + 1
      const next = {
        reportedAt: open?.reportedAt ?? now(),
        calls: (open?.calls ?? 0) + 1,
        statuses,
        last: rejection,
      }
      if (open === undefined) {
        report(hookId, next)
        hooks.set(hookId, { ...next, calls: 0, statuses: {} })
      } else hooks.set(hookId, next)
    },
    flush: () => flush(EVERY_MS),
    close(): void {
      clearInterval(timer)
      flush(0)
    },
  }
}
