import type { IncomingHttpHeaders } from 'node:http'

/** Where a request says it comes from: its `Origin`, else its `User-Agent`. */
export function originOf({ headers }: { headers: IncomingHttpHeaders }): string | null {
  const origin = headers.origin ?? headers['user-agent']
  return typeof origin === 'string' ? origin.slice(0, 512) : null
}
