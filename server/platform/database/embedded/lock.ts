// One Gantry per home.

import { rmSync } from 'node:fs'
import { chmod, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { type FileLock, tryLock } from '#platform/file-lock.ts'

const PATIENCE_MS = 300

/** Returns the function that releases it. */
export async function lockHome(home: string): Promise<() => void> {
  const holder = join(home, 'gantry.pid')
  const lock = await acquire(join(home, 'gantry.lock'), holder)
  await rm(holder, { force: true })
  await writeFile(holder, `${process.pid}\n`, { mode: 0o600 })
  return () => {
    if (!lock.isOpen) return
    rmSync(holder, { force: true })
    lock.close()
  }
}

/** Retries briefly: a process that was just killed releases its lock a moment later. */
async function acquire(path: string, holder: string): Promise<FileLock> {
  const deadline = performance.now() + PATIENCE_MS
  for (;;) {
    const lock = tryLock(path)
    if (lock) {
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
