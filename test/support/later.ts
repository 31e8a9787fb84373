type Closer = { after(fn: () => Promise<void>): void }

const endings = new WeakMap<Closer, (() => unknown)[]>()

/**
 * What to do when a test has ended, last thing first: a server is stopped before its folder goes. (Hooks of the
 * test runner itself run in the order in which they were given, and not at all after one that failed.)
 */
export function later(t: Closer, end: () => unknown): void {
  const known = endings.get(t)
  if (known) {
    known.push(end)
    return
  }
  const list = [end]
  endings.set(t, list)
  t.after(async () => {
    const faults: unknown[] = []
    for (const one of list.toReversed()) {
      try {
        await one()
      } catch (error) {
        faults.push(error)
      }
    }
    if (faults.length > 0) throw faults[0]
  })
}
