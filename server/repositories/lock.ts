import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as pause } from 'node:timers/promises'

const SQLITE_BUSY = 5
const LOOK_EVERY_MS = 25

/**
 * One at a time per application, within this process and between processes. The lock is the operating system's
 * own (through the SQLite that Node carries: Node has no call for file locks): it ends with its process however
 * that ends, so there is no stale lock to judge. Waits as long as the signal allows, then throws its reason.
 */
export async function oneAtATime<Result>(
  folder: string,
  applicationId: number,
  signal: AbortSignal,
  work: () => Promise<Result>,
): Promise<Result> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  // The empty file stays for ever: removing it would part those who wait from those who come.
  const path = join(folder, `${applicationId}.lock`)
  let lock = tryLock(path)
  while (!lock) {
    await pause(LOOK_EVERY_MS, undefined, { signal }).catch(() => signal.throwIfAborted())
    lock = tryLock(path)
  }
  try {
    return await work()
  } finally {
    lock.close()
  }
}

function tryLock(path: string): DatabaseSync | undefined {
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
