const BLOCK = 512
const SIZE = [124, 136] as const
const TYPE = 156
const MAGIC = [257, 262] as const
/** An extended header: attributes of the entry after it. */
const EXTENDED = 'x'.charCodeAt(0)

/** What ends a tar that was put together from the entries of others. Tar writes it in records of this size. */
export const TAR_END = Buffer.alloc(20 * BLOCK)

/**
 * The entries of a tar, as `git archive` writes it, without the empty blocks that end it: those of several can follow each
 * other in one stream. Throws when the tar ends before they come, and when it is none.
 */
export async function* readEntries(tar: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  /** The beginning of a header. */
  let header = Buffer.alloc(0)
  /** Bytes of the current entry that are still to come. */
  let left = 0
  let attributes: Buffer[] | null = null
  /** Of the next entry, when it is too large for a header. */
  let nextSize: number | undefined
  let hasEnded = false

  function readHeader(block: Buffer): void {
    if (block.toString('latin1', ...MAGIC) !== 'ustar') throw new Error('The archive is damaged.')
    const isExtended = block[TYPE] === EXTENDED
    const size = Number.parseInt(block.toString('latin1', ...SIZE), 8) || 0
    left = Math.ceil((isExtended ? size : (nextSize ?? size)) / BLOCK) * BLOCK
    nextSize = undefined
    attributes = isExtended ? [] : null
  }

  function readContent(part: Buffer): void {
    left -= part.length
    attributes?.push(part)
    if (left > 0 || !attributes) return
    nextSize = readSize(Buffer.concat(attributes))
    attributes = null
  }

  for await (let rest of tar) {
    while (rest.length > 0 && !hasEnded) {
      const part = rest.subarray(0, left > 0 ? left : BLOCK - header.length)
      rest = rest.subarray(part.length)
      if (left > 0) {
        readContent(part)
        yield part
        continue
      }
      header = Buffer.concat([header, part])
      if (header.length < BLOCK) break
      const block = header
      header = Buffer.alloc(0)
      hasEnded = block.every((byte) => byte === 0)
      if (hasEnded) break
      readHeader(block)
      yield block
    }
  }
  if (!hasEnded) throw new Error('The archive ended early.')
}

/** Attributes are lines like `20 size=8589934592`, each beginning with its own length. */
function readSize(attributes: Buffer): number | undefined {
  for (let start = 0; start < attributes.length; ) {
    const text = attributes.toString('latin1', start, start + 40)
    const length = Number.parseInt(text, 10)
    if (!(length > 0)) return undefined
    const size = /^\d+ size=(\d+)\n/.exec(text)?.[1]
    if (size !== undefined) return Number(size)
    start += length
  }
  return undefined
}
