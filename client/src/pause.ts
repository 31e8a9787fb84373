/** Resolves after this time; rejects at once with the signal's reason when it aborts. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted()
    const onAbort = () => {
      clearTimeout(timer)
      reject(signal!.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort)
      resolve()
    }, ms)
    signal?.addEventListener('abort', onAbort, { once: true })
  })
}

/** A controller that also aborts when the signal does. Abort it when done: that also releases the signal. */
export function childController(signal?: AbortSignal): AbortController {
  const child = new AbortController()
  const onAbort = () => child.abort(signal!.reason)
  if (signal?.aborted) onAbort()
  else signal?.addEventListener('abort', onAbort, { once: true, signal: child.signal })
  return child
}
