/**
 * Passes on what a source gives, with a sign of life whenever it has been quiet for a while, whatever it waits for:
 * news, or a database that is away. Ends with the source, or at once when the signal aborts.
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
    // Not awaited: it may be in the middle of something that takes long.
    next.catch(() => {})
    source.return(undefined).catch(() => {})
  }
}

/** Promise.race would leave something behind on the signal each time. */
function firstOf<Result>(
  result: Promise<Result>,
  ms: number,
  signal: AbortSignal,
): Promise<Result | 'quiet' | 'aborted'> {
  return new Promise((resolve, reject) => {
    const onAbort = () => settle(() => resolve('aborted'))
    const timer = setTimeout(() => settle(() => resolve('quiet')), ms)
    const settle = (how: () => void) => {
      clearTimeout(timer)
      signal.removeEventListener('abort', onAbort)
      how()
    }
    if (signal.aborted) return onAbort()
    signal.addEventListener('abort', onAbort)
    result.then(
      (value) => settle(() => resolve(value)),
      (error) => settle(() => reject(error)),
    )
  })
}
