// What a supervisor sends: lines of words, and after a line `data <id> <offset> <length>` so many bytes of output.

export type FrameHandlers = {
  onLine(words: string[]): void
  onData(id: number, offset: number, chunk: Buffer): void
}

/** supervisor.sh sends no more at a time. */
export const MAX_CHUNK_BYTES = 256 * 1024
const MAX_LINE_BYTES = 8 * 1024
const NUMBER = /^\d{1,15}$/

/** Takes the bytes as they come. False: what was sent is not from a supervisor, and nothing after it can be understood. */
export function createFrameReader({ onLine, onData }: FrameHandlers): (bytes: Buffer) => boolean {
  let rest: Buffer = Buffer.alloc(0)
  let data: { id: number; offset: number; length: number } | undefined

  function next(): 'taken' | 'incomplete' | 'invalid' {
    if (data) {
      if (rest.length < data.length) return 'incomplete'
      const chunk = rest.subarray(0, data.length)
      rest = rest.subarray(data.length)
      const { id, offset } = data
      data = undefined
      onData(id, offset, chunk)
      return 'taken'
    }
    const end = rest.indexOf('\n')
    if (end === -1) return rest.length > MAX_LINE_BYTES ? 'invalid' : 'incomplete'
    const words = rest.subarray(0, end).toString('utf8').split(' ')
    rest = rest.subarray(end + 1)
    if (words[0] !== 'data') {
      onLine(words)
      return 'taken'
    }
    if (words.length !== 4 || !words.slice(1).every((word) => NUMBER.test(word))) return 'invalid'
    const [id, offset, length] = words.slice(1).map(Number) as [number, number, number]
    if (length > MAX_CHUNK_BYTES) return 'invalid'
    data = { id, offset, length }
    return 'taken'
  }

  return (bytes) => {
    rest = rest.length === 0 ? bytes : Buffer.concat([rest, bytes])
    for (;;) {
      const result = next()
      if (result !== 'taken') return result === 'incomplete'
    }
  }
}
