import type { Fault } from './faults.ts'
import type { Literal } from './text.ts'

/** Headers that belong to the connection, or that say who sent this and when. */
const RESERVED = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'webhook-id',
  'webhook-signature',
  'webhook-timestamp',
])

export const LONGEST_VALUE = 8192

export function nameFault(name: string, earlier: ReadonlySet<string>): string | undefined {
  const plain = name.toLowerCase()
  if (RESERVED.has(plain) || plain.startsWith('proxy-')) return 'is set by the service and cannot be chosen'
  return earlier.has(plain) ? 'is given twice (upper and lower case count as the same)' : undefined
}

export function valueFaults(literals: readonly Literal[]): Fault[] {
  return literals.flatMap(({ at, text }) => {
    const found = text.search(/[^\t\x20-\x7e\x80-\xff]/)
    return found === -1 ? [] : [{ at: at + found, message: 'has a character that headers cannot carry' }]
  })
}

/** Nothing that a value holds can end a header and begin another one. */
export function cleanValue(text: string): string {
  return text
    .replaceAll(/[\0-\x1f\x7f]+/g, ' ')
    .replaceAll(/[^\x20-\x7e\x80-\xff]/gu, '?')
    .trim()
}
