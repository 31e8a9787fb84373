// The sending room: one HTTP request to a receiver that may be broken or hostile. It goes to no machine that
// the address guard does not allow, it ends in time whatever the receiver does, and it keeps little of the
// answer. What a request means, and whether it is tried again, is decided elsewhere.
import type { AddressGuard } from '#platform/addresses/guard.ts'
import { openConnections } from './connections.ts'
import { STOPPED, type Stops, startExchange } from './exchange.ts'
import type { SendOutcome, SendRequest } from './outcome.ts'
import { prepareHeaders } from './request-headers.ts'

export type { SendOutcome, SendRequest } from './outcome.ts'

export type Sender = {
  /** Never throws. A request that `signal` ends comes back as unreachable: look at the signal first. */
  send(request: SendRequest, signal?: AbortSignal): Promise<SendOutcome>
  /** Ends what is under way, which comes back as unreachable, and closes every connection. */
  close(): Promise<void>
}

export function createSender(options: { guard: AddressGuard; userAgent: string }): Sender {
  const verifying = openConnections({ guard: options.guard, verifySsl: true })
  const trusting = openConnections({ guard: options.guard, verifySsl: false })
  const stopsOf = rememberStops()

  return {
    async send(request, signal) {
      const ready = prepare(request, options.userAgent)
      if (ready.kind === 'faulty')
        return { kind: 'blocked', message: ready.message, ipAddress: null, durationMs: 0 }
      const { agent } = request.verifySsl ? verifying : trusting
      if (signal?.aborted) return { kind: 'unreachable', message: STOPPED, ipAddress: null, durationMs: 0 }
      const exchange = startExchange({ timeoutMs: request.timeoutMs, stops: signal && stopsOf(signal) })
      const { origin, pathname, search } = ready.url
      const { method, body } = request
      agent.dispatch(
        { origin, path: pathname + search, method, headers: ready.headers, body },
        exchange.handler,
      )
      return exchange.outcome
    },
    async close() {
      await Promise.all([verifying.close(), trusting.close()])
    },
  }
}

/** Thousands of requests share one signal, and a listener of its own for each costs more than it looks. */
function rememberStops(): (signal: AbortSignal) => Stops {
  const known = new WeakMap<AbortSignal, Stops>()
  return (signal) => {
    let stops = known.get(signal)
    if (!stops) {
      stops = new Set()
      known.set(signal, stops)
      const all = stops
      signal.addEventListener('abort', () => all.forEach((stop) => void stop()), { once: true })
    }
    return stops
  }
}

type Prepared =
  | { kind: 'ready'; url: URL; headers: Record<string, string> }
  | { kind: 'faulty'; message: string }

function prepare(request: SendRequest, userAgent: string): Prepared {
  const url = URL.parse(request.url)
  if (!url || !['http:', 'https:'].includes(url.protocol))
    return { kind: 'faulty', message: 'The address is not a valid http or https address.' }
  if (url.username !== '' || url.password !== '')
    return { kind: 'faulty', message: 'The address holds a user name or password: they belong in a header.' }
  const headers = prepareHeaders(request.headers, userAgent)
  return headers.kind === 'ready' ? { ...headers, url } : headers
}
