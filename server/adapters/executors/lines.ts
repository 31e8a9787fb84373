import type { Readable } from 'node:stream'

// Launcher and guard say a few words at a time. What a login shell prints ahead of them is not worth more either.
const LONGEST_LINE = 64 * 1024

/** Calls back with every whole line. A stream without any is destroyed before it fills the memory. */
export function onLines(stream: Readable, hear: (line: string) => void): void {
  let unfinished = ''
  stream.on('data', (chunk: Buffer) => {
    const lines = (unfinished + chunk.toString('latin1')).split('\n')
    unfinished = lines.pop()!
    lines.forEach(hear)
    if (unfinished.length > LONGEST_LINE) stream.destroy()
  })
}
