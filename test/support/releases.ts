// The contents of an application's folder on a server.
import { readdir, readFile, readlink } from 'node:fs/promises'
import { join } from 'node:path'

/** The name of the live release, null when there is none. */
export async function liveRelease(base: string): Promise<string | null> {
  const link = await readlink(join(base, 'current')).catch(() => null)
  return link === null ? null : link.replace(/^releases\//, '')
}

export const liveFile = (base: string, file: string) => readFile(join(base, 'current', file), 'utf8')

/** Everything in the releases folder, finished or not. */
export async function releasesIn(base: string): Promise<string[]> {
  return (await readdir(join(base, 'releases')).catch(() => [])).sort()
}
