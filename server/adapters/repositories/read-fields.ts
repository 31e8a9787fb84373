import type { Readable } from 'node:stream'

/**
 * What `git … -z` prints: texts that end with NUL, as many at a time as a chunk holds. Of a long one only the first
 * bytes are kept. What follows the last NUL is a text, too.
 */
export async function* readFields(output: Readable, maxBytes: number): AsyncGenerator<string[]> {
  let kept: Buffer[] = []
  let size = 0
  const keep = (part: Buffer) => {
    if (size < maxBytes && part.length > 0) kept.push(part.subarray(0, maxBytes - size))
    size += part.length
  }
  const finish = (): string => {
    const text = Buffer.concat(kept).toString()
    const wasCut = size > maxBytes
    kept = []
    size = 0
    // The cut may be in the middle of a character.
    return wasCut ? `${text.replace(/�+$/, '')}…` : text
  }
  for await (const chunk of output as AsyncIterable<Buffer>) {
    const fields: string[] = []
    let start = 0
    for (let end = chunk.indexOf(0); end !== -1; end = chunk.indexOf(0, start)) {
      keep(chunk.subarray(start, end))
      fields.push(finish())
      start = end + 1
    }
    keep(chunk.subarray(start))
    if (fields.length > 0) yield fields
  }
  if (size > 0) yield [finish()]
}
