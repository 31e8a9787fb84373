import { createHash } from 'node:crypto'
import { type FileHandle, open } from 'node:fs/promises'
import { compose, type Readable } from 'node:stream'
import { createZstdDecompress } from 'node:zlib'
import {
  type Contents,
  checkFirstLine,
  decodeContents,
  decodeFooter,
  FIRST_LINE,
  FOOTER_BYTES,
  type Section,
  sectionsOf,
  UnusableFileError,
} from './format.ts'

export type BackupReader = {
  contents: Contents
  /** A section as it was before it was compressed. Read it whole, or destroy it. */
  read(section: Section): Readable
  [Symbol.asyncDispose](): Promise<void>
}

const MOST_CONTENTS = 64 * 1024 * 1024
const CHUNK_BYTES = 256 * 1024

/** Every byte has been checked when this resolves. Throws an UnusableFileError for what is not a whole backup. */
export async function openBackupFile(path: string, signal: AbortSignal): Promise<BackupReader> {
  await using opening = new AsyncDisposableStack()
  const file = await open(path, 'r')
  opening.defer(() => file.close())
  const contents = await readContents(file)
  for (const section of sectionsOf(contents)) {
    signal.throwIfAborted()
    if ((await digestOf(file, section)) !== section.sha256) {
      throw new UnusableFileError('is damaged: a part of it does not match its checksum')
    }
  }
  const opened = opening.move()
  return {
    contents,
    read: (section) => compose(storedBytes(file, section), createZstdDecompress()),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

async function readContents(file: FileHandle): Promise<Contents> {
  const entry = await file.stat()
  if (!entry.isFile()) throw new UnusableFileError('is not a file')
  checkFirstLine(await readAt(file, 0, FIRST_LINE.length))
  const footerAt = entry.size - FOOTER_BYTES
  if (footerAt < FIRST_LINE.length) throw new UnusableFileError('is not complete: its end is missing')
  const footer = decodeFooter(await readAt(file, footerAt, FOOTER_BYTES))
  const contentsAt = footerAt - footer.contentsBytes
  if (contentsAt < FIRST_LINE.length || footer.contentsBytes > MOST_CONTENTS) {
    throw new UnusableFileError('is damaged: its contents are not where they should be')
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
    if (chunk.length === 0) throw new UnusableFileError('is not complete: its end is missing')
    done += chunk.length
    yield chunk
  }
}
