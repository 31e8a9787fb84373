import { once } from 'node:events'
import type { Readable, Writable } from 'node:stream'

/**
 * The preamble, then `input` at the pace of the reader, until `over`. Rejects when `input` breaks, and then does
 * not end the command's input: half an archive must not look like a whole one. A command that does not read is no
 * fault.
 */
export async function feed(
  stdin: Writable,
  preamble: string,
  input: Readable | undefined,
  over: AbortSignal,
): Promise<void> {
  stdin.on('error', () => {})
  if (!input) {
    stdin.end(preamble)
    return
  }
  stdin.write(preamble)
  for await (const chunk of input) {
    if (over.aborted) return
    // An SSH channel that was closed never drains and never says so.
    if (!stdin.write(chunk)) await once(stdin, 'drain', { signal: over }).catch(() => {})
  }
  stdin.end()
}
