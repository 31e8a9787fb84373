// The server's log, <home>/postgres.log. The server writes straight into the file, so its last words are kept
// even when Gantry is gone.

import { copyFile, open, stat, truncate } from 'node:fs/promises'
import { join } from 'node:path'

const LARGEST_LOG = 5 * 1024 * 1024
const TAIL = 4 * 1024

export function logPath(home: string): string {
  return join(home, 'postgres.log')
}

/** Keeps one older piece. Copied and emptied, not renamed: the server holds the file open, in append mode. */
export async function capLog(home: string): Promise<void> {
  const path = logPath(home)
  const size = await logSize(home)
  if (size <= LARGEST_LOG) return
  await copyFile(path, `${path}.1`)
  await truncate(path)
}

export async function logSize(home: string): Promise<number> {
  const log = await stat(logPath(home)).catch(() => undefined)
  return log?.size ?? 0
}

/** The last lines written since the log had the given size. */
export async function logTail(home: string, since: number): Promise<string> {
  const size = await logSize(home)
  const start = Math.max(since, size - TAIL)
  const file = await open(logPath(home))
  try {
    const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(TAIL), position: start })
    return buffer.toString('utf8', 0, bytesRead).trim()
  } finally {
    await file.close()
  }
}
