import type { EventData } from './schemas.ts'

// Server-sent events as they are written: https://html.spec.whatwg.org/multipage/server-sent-events.html

/** JSON has no line breaks, so one `data` line holds it. */
export function writeEvent<Type extends keyof EventData>(
  type: Type,
  id: string,
  data: EventData[Type],
): string {
  return `event: ${type}\nid: ${id}\ndata: ${JSON.stringify(data)}\n\n`
}

/** A comment: it keeps proxies from taking a quiet connection for a dead one. */
export const HEARTBEAT = ':\n\n'

/** Takes the receiver to a position without an event. */
export function writePosition(id: string): string {
  return `id: ${id}\n\n`
}

/** How long the receiver waits before it comes back after a cut. */
export function writeRetry(ms: number): string {
  return `retry: ${ms}\n\n`
}
