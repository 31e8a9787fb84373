import type { Database } from '#platform/database/connect.ts'

/** One that has the lock, and one that waits for it: the next one begins as soon as the first ends. */
const AT_ONCE = 2

type Turns = { running: number; waiting: (() => void)[] }

const turns = new WeakMap<Database, Map<number, Turns>>()
const turnsOf = (db: Database) => turns.getOrInsertComputed(db, () => new Map())

/**
 * Transactions on one environment follow each other anyway: they need its lock. Those of a process wait for their turn
 * here, without a connection, so that an environment whose lock is not released takes no more than two connections from
 * the others.
 */
export async function takeTurn<Result>(
  db: Database,
  environmentId: number,
  work: () => Promise<Result>,
): Promise<Result> {
  const environment = turnsOf(db).getOrInsertComputed(environmentId, () => ({ running: 0, waiting: [] }))
  if (environment.running < AT_ONCE) environment.running += 1
  else await new Promise<void>((resolve) => environment.waiting.push(resolve))
  try {
    return await work()
  } finally {
    const next = environment.waiting.shift()
    // The turn passes to the next one: as many run as before.
    if (next) next()
    else if (--environment.running === 0) turnsOf(db).delete(environmentId)
  }
}
