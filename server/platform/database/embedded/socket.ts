// The folder through which clients reach the server's socket. The socket lies in the data folder (0700); the
// path to it may have 107 bytes at most, so a deep home gets a short private folder with a link.

import { createHash } from 'node:crypto'
import { lutimes, readlink, rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { firstOwnFolder, ownFolder } from './folders.ts'

export type SocketFolder = {
  folder: string
  /** Call it now and then: cleaners of temporary files take what looks old. */
  keep(): Promise<void>
  remove(): Promise<void>
}

// macOS allows 104 bytes, with the closing zero.
const LONGEST_PATH = process.platform === 'linux' ? 107 : 103

export async function provideSocketFolder(data: string): Promise<SocketFolder> {
  const nothing = async () => {}
  if (Buffer.byteLength(join(data, '.s.PGSQL.5432')) <= LONGEST_PATH) {
    return { folder: data, keep: nothing, remove: nothing }
  }
  const name = `gantry-${createHash('sha256').update(data).digest('hex').slice(0, 16)}`
  // Only root may write to /run, and no cleaner visits it.
  const places = process.getuid!() === 0 ? ['/run', '/tmp'] : ['/tmp']
  const shelter = await firstOwnFolder(
    places.map((place) => join(place, name)),
    0o700,
  )
  const folder = join(shelter, 'postgres')
  const keep = async () => {
    await ownFolder(shelter, 0o700)
    const target = await readlink(folder).catch(() => undefined)
    if (target !== data) {
      await rm(folder, { recursive: true, force: true })
      await symlink(data, folder)
    }
    const now = new Date()
    await lutimes(folder, now, now)
  }
  await keep()
  return { folder, keep, remove: () => rm(shelter, { recursive: true, force: true }) }
}
