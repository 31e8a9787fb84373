// Callbacks: an emitter for many listeners, and a throttle.

export function createEmitter<Args extends unknown[] = []>() {
  const listeners = new Set<(...args: Args) => void>()
  return {
    emit(...args: Args): void {
      for (const listener of listeners) listener(...args)
    },
    /** Returns what unsubscribes. */
    subscribe(listener: (...args: Args) => void): () => void {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

/** Runs at most once in `ms`, at the end of it; if it has not run for that long, already after `firstMs`. */
export function throttle(run: () => void, ms: number, firstMs = ms): { (): void; cancel(): void } {
  let timer: ReturnType<typeof setTimeout> | undefined
  let ranAt = Number.NEGATIVE_INFINITY
  const call = () => {
    timer ??= setTimeout(
      () => {
        timer = undefined
        ranAt = performance.now()
        run()
      },
      Math.max(firstMs, ranAt + ms - performance.now()),
    )
  }
  const cancel = () => {
    clearTimeout(timer)
    timer = undefined
  }
  return Object.assign(call, { cancel })
}
