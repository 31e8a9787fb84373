// The HTTP client for every outgoing request: deliveries and credential checks. A receiver may be broken or
// hostile: a request connects only where the address guard allows, follows no redirect, ends in time whatever the
// receiver does, and reads little of the response. Callers decide what a request means and whether to retry it.
import type { AddressGuard } from '#platform/addresses/guard.ts'
import { openConnections } from './connections.ts'
import type { Failure } from './errors.ts'
import { type SendOutcome, STOPPED, type Stops, startExchange } from './exchange.ts'

export type { SendOutcome } from './exchange.ts'

export type SendRequest = {
  method: string
  /** http or https. The fragment is not sent. */
  url: string
  /** Headers that belong to the connection are set here; given ones are dropped. */
  headers: Record<string, string>
  body: Buffer | null
  /** For everything together: waiting for a free connection, DNS, connecting, sending, the whole response. */
  timeoutMs: number
  verifySsl: boolean
  /** Requests to the same origin with different names here do not wait for each other's connections. */
  sharer?: string
  /** How much of the response to read; `MAX_BODY_BYTES` when left out. */
  maxBodyBytes?: number
}

export type HttpClient = ReturnType<typeof createHttpClient>

export function createHttpClient(options: { guard: AddressGuard; userAgent: string }) {
  const verifying = openConnections({ ...options, verifySsl: true })
  const trusting = openConnections({ ...options, verifySsl: false })
  const stopsOf = shareStops()
  const notSent = (kind: Failure, message: string) => ({ kind, message, ipAddress: null, durationMs: 0 })

  return {
    /** Never throws. A request that `signal` aborts comes back as unreachable: check the signal first. */
    async send(request: SendRequest, signal?: AbortSignal): Promise<SendOutcome> {
      const url = readUrl(request.url)
      if (typeof url === 'string') return notSent('blocked', url)
      const headers = prepareHeaders(request.headers, options.userAgent)
      if (typeof headers === 'string') return notSent('blocked', headers)
      if (signal?.aborted) return notSent('unreachable', STOPPED)
      const exchange = startExchange({ ...request, stops: signal && stopsOf(signal) })
      const { method, body, verifySsl } = request
      const connections = verifySsl ? verifying : trusting
      const path = url.pathname + url.search
      const sharer = request.sharer ?? ''
      connections.dispatch({ origin: url.origin, path, method, headers, body }, sharer, exchange.handler)
      return exchange.outcome
    },
    /** Aborts requests in flight, which come back as unreachable, and closes every connection. */
    async close(): Promise<void> {
      await Promise.all([verifying.close(), trusting.close()])
    },
  }
}

/** Thousands of requests share one signal, and a listener for each of them is expensive. */
function shareStops(): (signal: AbortSignal) => Stops {
  const known = new WeakMap<AbortSignal, Stops>()
  return (signal) =>
    known.getOrInsertComputed(signal, () => {
      const stops: Stops = new Set()
      signal.addEventListener('abort', () => stops.forEach((stop) => void stop()), { once: true })
      return stops
    })
}

/** The URL, or what is wrong with it. */
function readUrl(text: string): URL | string {
  const url = URL.parse(text)
  if (!url || !['http:', 'https:'].includes(url.protocol)) return 'The URL is not a valid http or https URL.'
  if (url.username === '' && url.password === '') return url
  return 'The URL contains a user name or password: use a header instead.'
}

/** Describe the connection or the length of the body: set by the client, or not at all. */
const CONNECTION_HEADERS = new Set(
  `connection content-length expect host keep-alive proxy-authenticate proxy-authorization proxy-connection te
  trailer transfer-encoding upgrade`.split(/\s+/),
)

/** The headers to send, or what is wrong: that names the header, never its value, which may be a secret. */
function prepareHeaders(given: Record<string, string>, userAgent: string): Record<string, string> | string {
  const headers: Record<string, string> = Object.create(null)
  const names = new Set<string>()
  for (const name of Object.keys(given)) {
    const value = given[name]!
    const lower = name.toLowerCase()
    if (CONNECTION_HEADERS.has(lower.trim())) continue
    if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name))
      return `${JSON.stringify(name)} is not a valid header name.`
    if (/[\x00-\x08\x0a-\x1f\x7f]/.test(value))
      return `The header ${name} contains a line break or another control character.`
    if (names.has(lower)) return `The header ${name} is given more than once.`
    names.add(lower)
    headers[name] = asUtf8(value)
  }
  if (!names.has('user-agent')) headers['user-agent'] = userAgent
  return headers
}

/** Header values are sent byte by byte; beyond ASCII, receivers expect UTF-8. */
function asUtf8(value: string): string {
  return /^[\x00-\x7f]*$/.test(value) ? value : Buffer.from(value, 'utf8').toString('latin1')
}
