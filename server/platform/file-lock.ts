import { DatabaseSync } from 'node:sqlite'

/** Keep it, and close it to let go. */
export type FileLock = DatabaseSync

const SQLITE_BUSY = 5

/**
 * Takes the lock on a file that is there for nothing else, or returns undefined when somebody has it. The lock is
 * the operating system's own (through the SQLite that Node carries: Node has no call for file locks): it ends with
 * its process however that ends, so there is no stale lock to judge and no process number to mistake for another's.
 * It holds within this process, between processes, and between containers that share the folder. Never open the
 * file by other means: closing it anywhere in the process would drop the lock.
 */
export function tryLock(path: string): FileLock | undefined {
  const lock = new DatabaseSync(path, { timeout: 0 })
  try {
    lock.exec('begin exclusive')
    return lock
  } catch (error) {
    lock.close()
    if ((error as { errcode?: number }).errcode === SQLITE_BUSY) return undefined
    throw error
  }
}
