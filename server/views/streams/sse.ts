import { setTimeout as delay } from 'node:timers/promises'
import type { EventData } from './schemas.ts'

// Server-sent events on the wire: https://html.spec.whatwg.org/multipage/server-sent-events.html

/** JSON has no line breaks, so one `data` line holds it. */
export function formatEvent<Type extends keyof EventData>(type: Type, id: string, data: EventData[Type]) {
  return `event: ${type}\nid: ${id}\ndata: ${JSON.stringify(data)}\n\n`
}

/** A comment: keeps proxies from closing a quiet connection. */
export const HEARTBEAT = ':\n\n'

/** Moves the client's `Last-Event-ID` forward without an event. */
export const formatId = (id: string) => `id: ${id}\n\n`

/** How long the client waits before it reconnects. */
export const formatRetry = (ms: number) => `retry: ${ms}\n\n`

/** Resolves early when the signal aborts. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (ms > 0) await delay(ms, undefined, { signal }).catch(() => {})
}

/**
 * Passes the source through and adds a heartbeat whenever it has been quiet for a while, whether it waits for a
 * change or for the database. Ends with the source, or at once when the signal aborts.
 */
export async function* withHeartbeats(
  source: AsyncGenerator<string>,
  options: { heartbeatMs: number; heartbeat: () => string; signal: AbortSignal },
): AsyncGenerator<string> {
  const { heartbeatMs, heartbeat, signal } = options
  let next = source.next()
  try {
    for (;;) {
      const first = await firstOf(next, heartbeatMs, signal)
      if (first === 'aborted') return
      if (first === 'quiet') {
        yield heartbeat()
        continue
      }
      if (first.done) return
      yield first.value
      next = source.next()
    }
  } finally {
    // Not awaited: the source may be in the middle of something slow.
    next.catch(() => {})
    source.return(undefined).catch(() => {})
  }
}

/** Promise.race would leak a listener on the signal each time. */
function firstOf<Result>(result: Promise<Result>, ms: number, signal: AbortSignal) {
  const { promise, resolve, reject } = Promise.withResolvers<Result | 'quiet' | 'aborted'>()
  const onAbort = () => resolve('aborted')
  const timer = setTimeout(() => resolve('quiet'), ms)
  signal.addEventListener('abort', onAbort)
  if (signal.aborted) onAbort()
  result.then(resolve, reject)
  return promise.finally(() => {
    clearTimeout(timer)
    signal.removeEventListener('abort', onAbort)
  })
}
