type Closer = { after(fn: () => Promise<void>): void }

const cleanups = new WeakMap<Closer, (() => unknown)[]>()

/**
 * Runs cleanups after a test in reverse order: a server is stopped before its folder is removed. (Hooks of the test
 * runner itself run in the order of registration, and not at all after one that failed.)
 */
export function later(t: Closer, cleanUp: () => unknown): void {
  const known = cleanups.get(t)
  if (known) {
    known.push(cleanUp)
    return
  }
  const list = [cleanUp]
  cleanups.set(t, list)
  t.after(async () => {
    const errors: unknown[] = []
    for (const one of list.toReversed()) {
      try {
        await one()
      } catch (error) {
        errors.push(error)
      }
    }
    if (errors.length > 0) throw errors[0]
  })
}
