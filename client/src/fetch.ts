import { secondsOf, UnreachableError } from './errors.ts'
import { pause } from './pause.ts'

export type FetchOptions = {
  /** A personal access token. In the browser of somebody who is signed in, none is needed. */
  token?: string | undefined
  headers?: Record<string, string> | undefined
  /** Replaces the global `fetch`. It may throw an `UnreachableError` of its own. */
  fetch?: ((request: Request) => Promise<Response>) | undefined
  /** How often a request is repeated. 0: never. */
  retries?: number | undefined
  /** How long a request may wait before it is repeated, all repetitions together. */
  maxRetryWaitMs?: number | undefined
}

/**
 * Signs requests in, and repeats what is safe to repeat: any request after a 429 or a 503 with `Retry-After`, which
 * say that nothing was accepted, and reads also when the service cannot be reached.
 */
export function createFetch(options: FetchOptions) {
  const { token, headers = {}, retries = 3, maxRetryWaitMs = 60_000 } = options
  const fetch = options.fetch ?? ((request: Request) => globalThis.fetch(request))
  return async (request: Request): Promise<Response> => {
    if (token !== undefined) request.headers.set('authorization', `Bearer ${token}`)
    for (const [name, value] of Object.entries(headers)) request.headers.set(name, value)
    let waitedMs = 0
    for (let tries = 0; ; tries += 1) {
      const isLast = tries >= retries
      const outcome = await tryOnce(fetch, isLast ? request : request.clone())
      const delayMs = isLast ? undefined : await retryDelay(request, outcome, tries)
      if (delayMs === undefined || waitedMs + delayMs > maxRetryWaitMs) {
        if (outcome instanceof Response) return outcome
        throw outcome
      }
      if (outcome instanceof Response) await outcome.body?.cancel()
      await pause(delayMs, request.signal)
      waitedMs += delayMs
    }
  }
}

async function tryOnce(
  fetch: (request: Request) => Promise<Response>,
  request: Request,
): Promise<Response | UnreachableError> {
  try {
    return await fetch(request)
  } catch (cause) {
    if (request.signal.aborted) throw cause
    if (cause instanceof UnreachableError) return cause
    return new UnreachableError(`${new URL(request.url).origin} is unreachable.`, { cause })
  }
}

/** Undefined: do not repeat. */
async function retryDelay(
  { method }: Request,
  outcome: Response | UnreachableError,
  tries: number,
): Promise<number | undefined> {
  const isRead = method === 'GET' || method === 'HEAD'
  const backoffMs = 250 * 2 ** tries * (0.5 + Math.random() / 2)
  if (outcome instanceof UnreachableError) return isRead ? backoffMs : undefined
  if (outcome.status !== 429 && outcome.status !== 503) return undefined
  const seconds = secondsOf(outcome.headers.get('retry-after'))
  if (isRead) return seconds === null ? backoffMs : seconds * 1_000
  // Without the header it may come from a proxy, which does not know what the service accepted.
  if (seconds === null || (await isOutcomeUnknown(outcome))) return undefined
  return seconds * 1_000
}

/** The one 503 after which the request may have been accepted. */
async function isOutcomeUnknown(response: Response): Promise<boolean> {
  const body: unknown = await response
    .clone()
    .json()
    .catch(() => null)
  return typeof body === 'object' && body !== null && 'code' in body && body.code === 'outcome_unknown'
}
