// One Gantry per home. The lock is the operating system's own (through the SQLite that Node carries: Node has no
// call for file locks): it ends with the process however that ends, so there is no stale lock to judge and no
// process number to mistake for another's. It also holds between containers that share the home.

import { rmSync } from 'node:fs'
import { chmod, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as pause } from 'node:timers/promises'

export type HomeLock = { release(): void }

const SQLITE_BUSY = 5
const PATIENCE_MS = 300

export async function lockHome(home: string): Promise<HomeLock> {
  const holder = join(home, 'gantry.pid')
  const lock = await acquire(join(home, 'gantry.lock'), holder)
  await rm(holder, { force: true })
  await writeFile(holder, `${process.pid}\n`, { mode: 0o600 })
  return {
    release: () => {
      if (!lock.isOpen) return
      rmSync(holder, { force: true })
      lock.close()
    },
  }
}

/** Patient for a moment: a process that was just killed lets go a little later. */
async function acquire(path: string, holder: string): Promise<DatabaseSync> {
  const deadline = performance.now() + PATIENCE_MS
  for (;;) {
    const lock = tryLock(path)
    if (lock) {
      // Never open this file by other means: closing it anywhere in the process would drop the lock.
      await chmod(path, 0o600)
      return lock
    }
    if (performance.now() > deadline) {
      const number = await readFile(holder, 'utf8').catch(() => 'unknown')
      throw new Error(`another Gantry is running with this GANTRY_HOME (process ${number.trim()})`)
    }
    await pause(25)
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
