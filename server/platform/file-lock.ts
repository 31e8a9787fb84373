import { DatabaseSync } from 'node:sqlite'

/** Keep a reference to it; close it to release the lock. */
export type FileLock = DatabaseSync

const SQLITE_BUSY = 5

/**
 * Locks a file that serves no other purpose, or returns undefined when it is locked. The lock is the operating
 * system's own (through the SQLite in Node, which has no API for file locks): it ends with its process however that
 * ends, so there are no stale locks and no process ids to compare. It works within this process, between processes,
 * and between containers that share the folder. Never open the file by other means: closing it anywhere in the
 * process would release the lock.
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
