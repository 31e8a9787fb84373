// The folder through which clients reach the server's socket. The socket is in the data folder (0700); its path may
// have 107 bytes at most, so a deep home gets a short private folder with a link.

import { createHash } from 'node:crypto'
import { lutimes, readlink, rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { firstOwnFolder, ownFolder } from './folders.ts'

// macOS allows 104 bytes, including the terminating zero.
const MAX_PATH_BYTES = process.platform === 'linux' ? 107 : 103

/** Call `keep` periodically: cleaners of temporary files delete what looks old. */
export async function provideSocketFolder(data: string) {
  const noop = async () => {}
  if (Buffer.byteLength(join(data, '.s.PGSQL.5432')) <= MAX_PATH_BYTES) {
    return { folder: data, keep: noop, remove: noop }
  }
  const name = `gantry-${createHash('sha256').update(data).digest('hex').slice(0, 16)}`
  // Only root may write to /run, and it is never cleaned.
  const paths = (process.getuid!() === 0 ? ['/run', '/tmp'] : ['/tmp']).map((parent) => join(parent, name))
  const privateFolder = await firstOwnFolder(paths, 0o700)
  const folder = join(privateFolder, 'postgres')
  const keep = async () => {
    await ownFolder(privateFolder, 0o700)
    const target = await readlink(folder).catch(() => undefined)
    if (target !== data) {
      await rm(folder, { recursive: true, force: true })
      await symlink(data, folder)
    }
    const now = new Date()
    await lutimes(folder, now, now)
  }
  await keep()
  return { folder, keep, remove: () => rm(privateFolder, { recursive: true, force: true }) }
}
