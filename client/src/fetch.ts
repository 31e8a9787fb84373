import { secondsOf, UnreachableError } from './errors.ts'

export type FetchOptions = {
  /** A personal access token. In the browser of somebody who is signed in, none is needed. */
  token?: string
  headers?: Record<string, string>
  /** Replaces the global `fetch`. */
  fetch?: (request: Request) => Promise<Response>
  /** How often a call is repeated after 429 and 503. */
  retries?: number
}

const MAX_WAIT_SECONDS = 60

/** Signed in, and repeated when the service says that it accepted nothing and when to come back. */
export function createFetch({ token, headers = {}, retries = 3, fetch = globalThis.fetch }: FetchOptions) {
  return async (request: Request): Promise<Response> => {
    if (token !== undefined) request.headers.set('authorization', `Bearer ${token}`)
    for (const [name, value] of Object.entries(headers)) request.headers.set(name, value)
    for (let tries = 0; ; tries += 1) {
      const response = await reach(fetch, request.clone())
      const isBusy = response.status === 429 || response.status === 503
      const seconds = secondsOf(response.headers.get('retry-after')) ?? 2 ** tries
      if (!isBusy || tries >= retries || seconds > MAX_WAIT_SECONDS) return response
      await response.body?.cancel()
      await pause(seconds * 1_000, request.signal)
    }
  }
}

async function reach(fetch: (request: Request) => Promise<Response>, request: Request): Promise<Response> {
  try {
    return await fetch(request)
  } catch (error) {
    if (request.signal.aborted) throw error
    throw new UnreachableError(`${new URL(request.url).origin} is unreachable.`, { cause: error })
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted()
    const onAbort = () => {
      clearTimeout(timer)
      reject(signal.reason)
    }
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', onAbort)
      resolve()
    }, ms)
    signal.addEventListener('abort', onAbort, { once: true })
  })
}
