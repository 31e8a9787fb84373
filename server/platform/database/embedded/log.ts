// The server's log, <home>/postgres.log. The server writes directly to the file, so its last lines survive even
// when Gantry has exited.

import { copyFile, open, stat, truncate } from 'node:fs/promises'
import { join } from 'node:path'

const MAX_LOG_BYTES = 5 * 1024 * 1024
const TAIL_BYTES = 4 * 1024

export function logPath(home: string): string {
  return join(home, 'postgres.log')
}

/** Rotates to one older file. Copied and truncated, not renamed: the server has it open in append mode. */
export async function capLog(home: string): Promise<void> {
  const path = logPath(home)
  const size = await logSize(home)
  if (size <= MAX_LOG_BYTES) return
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
  const start = Math.max(since, size - TAIL_BYTES)
  await using file = await open(logPath(home))
  const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(TAIL_BYTES), position: start })
  return buffer.toString('utf8', 0, bytesRead).trim()
}
