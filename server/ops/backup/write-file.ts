import { createHash, randomBytes } from 'node:crypto'
import { type FileHandle, link, open, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createZstdCompress } from 'node:zlib'
import { type Contents, encodeEnd, FIRST_LINE, type Section } from './format.ts'

export type BackupWriter = {
  /** One after the other. `watch` sees the bytes as they come, before they are compressed. */
  add(source: Readable, watch?: (chunk: Buffer) => void): Promise<Section>
  /** Returns the size of the file, which has its name from then on. */
  finish(contents: Contents): Promise<number>
  /** Leaves nothing behind; after `finish` it does nothing. */
  [Symbol.asyncDispose](): Promise<void>
}

/** Only the owner can read it, and it gets its name when it is whole and on the disk. */
export async function createBackupFile(path: string, signal: AbortSignal): Promise<BackupWriter> {
  const draft = `${path}.${randomBytes(4).toString('hex')}.unfinished`
  const file = await open(draft, 'wx', 0o600)
  let position = 0

  async function write(chunk: Buffer): Promise<void> {
    await file.writeFile(chunk)
    position += chunk.length
  }

  await write(FIRST_LINE)
  return {
    async add(source, watch) {
      const offset = position
      const hash = createHash('sha256')
      await pipeline(
        source,
        async function* (chunks: AsyncIterable<Buffer>) {
          for await (const chunk of chunks) {
            watch?.(chunk)
            yield chunk
          }
        },
        createZstdCompress(),
        async (chunks: AsyncIterable<Buffer>) => {
          for await (const chunk of chunks) {
            hash.update(chunk)
            await write(chunk)
          }
        },
        { signal },
      )
      return { offset, bytes: position - offset, sha256: hash.digest('hex') }
    },
    async finish(contents) {
      await write(encodeEnd(contents))
      await file.sync()
      // Unlike a rename, a link never replaces what has that name already.
      await link(draft, path)
      await syncFolder(dirname(path))
      return position
    },
    async [Symbol.asyncDispose]() {
      await close(file)
      await rm(draft, { force: true })
    },
  }
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path)
  await folder.sync().finally(() => folder.close())
}

async function close(file: FileHandle): Promise<void> {
  if (file.fd !== -1) await file.close()
}
