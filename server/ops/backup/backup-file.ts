import { createHash, randomBytes } from 'node:crypto'
import { type FileHandle, link, open, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { compose, type Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createZstdCompress, createZstdDecompress } from 'node:zlib'
import {
  type Contents,
  checkFirstLine,
  decodeContents,
  decodeFooter,
  encodeEnd,
  FIRST_LINE,
  FOOTER_BYTES,
  type Section,
  sectionsOf,
  UnusableFileError,
} from './format.ts'

const MAX_CONTENTS_BYTES = 64 * 1024 * 1024
const CHUNK_BYTES = 256 * 1024

export type BackupWriter = Awaited<ReturnType<typeof createBackupFile>>

type Through = (chunks: AsyncIterable<Buffer>) => AsyncIterable<Buffer>

/** Readable by its owner only. It gets its final name when it is complete and flushed to disk. */
export async function createBackupFile(path: string, signal: AbortSignal) {
  const draft = `${path}.${randomBytes(4).toString('hex')}.unfinished`
  const file = await open(draft, 'wx', 0o600)
  let position = 0

  async function write(chunk: Buffer): Promise<void> {
    await file.writeFile(chunk)
    position += chunk.length
  }

  await write(FIRST_LINE)
  return {
    /** One section at a time. `through` sees the bytes before they are compressed. */
    async add(source: Readable, through: Through = (chunks) => chunks): Promise<Section> {
      const offset = position
      const hash = createHash('sha256')
      await pipeline(
        source,
        through,
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
    /** Gives the file its final name, and returns its size. */
    async finish(contents: Contents): Promise<number> {
      await write(encodeEnd(contents))
      await file.sync()
      // Unlike a rename, a link never replaces an existing file.
      await link(draft, path)
      await syncFolder(dirname(path))
      return position
    },
    /** Removes an unfinished file; has no effect after `finish`. */
    async [Symbol.asyncDispose](): Promise<void> {
      if (file.fd !== -1) await file.close()
      await rm(draft, { force: true })
    },
  }
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path)
  await folder.sync().finally(() => folder.close())
}

export type BackupReader = Awaited<ReturnType<typeof openBackupFile>>

/** Verifies every byte before it resolves. Throws an UnusableFileError unless the file is a complete backup. */
export async function openBackupFile(path: string, signal: AbortSignal) {
  await using opening = new AsyncDisposableStack()
  const file = await open(path, 'r')
  opening.defer(() => file.close())
  const contents = await readContents(file)
  for (const section of sectionsOf(contents)) {
    signal.throwIfAborted()
    if ((await digestOf(file, section)) !== section.sha256) {
      throw new UnusableFileError('is damaged: a section does not match its checksum')
    }
  }
  const opened = opening.move()
  return {
    contents,
    /** A section, decompressed. Read it to the end, or destroy it. */
    read: (section: Section): Readable => compose(storedBytes(file, section), createZstdDecompress()),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

async function readContents(file: FileHandle): Promise<Contents> {
  const entry = await file.stat()
  if (!entry.isFile()) throw new UnusableFileError('is not a file')
  checkFirstLine(await readAt(file, 0, FIRST_LINE.length))
  const footerAt = entry.size - FOOTER_BYTES
  if (footerAt < FIRST_LINE.length) throw new UnusableFileError('is incomplete: its end is missing')
  const footer = decodeFooter(await readAt(file, footerAt, FOOTER_BYTES))
  const contentsAt = footerAt - footer.contentsBytes
  if (contentsAt < FIRST_LINE.length || footer.contentsBytes > MAX_CONTENTS_BYTES) {
    throw new UnusableFileError('is damaged: its table of contents is not where it should be')
  }
  return decodeContents(await readAt(file, contentsAt, footer.contentsBytes), footer, contentsAt)
}

async function readAt(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, position)
  return buffer.subarray(0, bytesRead)
}

async function digestOf(file: FileHandle, section: Section): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of storedBytes(file, section)) hash.update(chunk)
  return hash.digest('hex')
}

async function* storedBytes(file: FileHandle, { offset, bytes }: Section): AsyncGenerator<Buffer> {
  for (let done = 0; done < bytes; ) {
    const chunk = await readAt(file, offset + done, Math.min(CHUNK_BYTES, bytes - done))
    if (chunk.length === 0) throw new UnusableFileError('is incomplete: its end is missing')
    done += chunk.length
    yield chunk
  }
}
