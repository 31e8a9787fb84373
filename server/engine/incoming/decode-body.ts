import { gunzipSync } from 'node:zlib'
import type { Headers } from './sender-headers.ts'

/** What the bytes of a call contain once their encoding is undone, or why it cannot be undone. */
export type Decoded =
  | { kind: 'decoded'; body: Buffer }
  | { kind: 'undecodable'; code: 'malformed' | 'too_large'; message: string }

/**
 * Pure: undoes gzip, the one encoding that is understood. Inflating stops at `maxBytes`, so a small body cannot fill
 * the memory. It does not yield: calls wait for each other instead of each holding an inflated body, and parsing the
 * result takes longer.
 */
export function decodeBody(headers: Headers, body: Buffer, maxBytes: number): Decoded {
  if (encodingOf(headers) !== 'gzip') return { kind: 'decoded', body }
  try {
    return { kind: 'decoded', body: gunzipSync(body, { maxOutputLength: maxBytes }) }
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE'
      ? undecodable('too_large', `The inflated body is larger than ${maxBytes} bytes.`)
      : undecodable('malformed', 'The body is not valid gzip.')
  }
}

function undecodable(code: 'malformed' | 'too_large', message: string): Decoded {
  return { kind: 'undecodable', code, message }
}

/** Null: an encoding that is not understood, or several on top of each other. */
export function encodingOf(headers: Headers): 'identity' | 'gzip' | null {
  const header = headers['content-encoding']
  if (header === undefined) return 'identity'
  const names = String(header).toLowerCase().split(',')
  const applied = names.map((name) => name.trim()).filter((name) => name !== '' && name !== 'identity')
  if (applied.length === 0) return 'identity'
  return applied.length === 1 && (applied[0] === 'gzip' || applied[0] === 'x-gzip') ? 'gzip' : null
}
