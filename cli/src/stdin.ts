import { readFile } from 'node:fs/promises'
import { usage } from './failure.ts'

const MAX_BYTES = 2 * 1024 * 1024

/** Everything on stdin. */
export async function readInput(): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > MAX_BYTES) throw usage('stdin exceeds 2 MiB.')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** The text of a file; - is stdin. */
export async function readFileOrInput(file: string, hint?: string): Promise<string> {
  if (file === '-') return readInput()
  return readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw usage(`Failed to read ${file}: ${error.code}.`, hint)
  })
}
