import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { tryLock } from '#platform/file-lock.ts'

const LOOK_EVERY_MS = 25

/**
 * One at a time per application, within this process and between processes. Waits as long as the signal allows,
 * then throws its reason.
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
