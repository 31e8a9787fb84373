import type { Context } from 'liquidjs'
import { asText } from './filters.ts'

/** A name that is output directly: the path to its value, and how the text is encoded. */
export type FastOutput = { keys: readonly string[]; write: (text: string) => string }

/**
 * Most texts are words around a few plain names. Those take this fast path: the stock renderer runs generators
 * for every part of every name, which takes ten times as long.
 */
export type FastText = readonly (string | FastOutput)[]

/** Keys that are more than a property; names with them take the slow path. */
const COMPUTED = new Set(['first', 'last', 'size'])

export function hasFastPath(keys: readonly string[]): boolean {
  return !keys.some((key) => COMPUTED.has(key))
}

export function renderFast(parts: FastText, context: Context): string {
  let text = ''
  for (const part of parts) {
    if (typeof part === 'string') text += part
    else text += part.write(asText.call({ context }, valueAt(context.environments, part.keys)))
  }
  return text
}

function valueAt(values: unknown, keys: readonly string[]): unknown {
  let value = values
  for (const key of keys) {
    if (value === null || value === undefined || !Object.hasOwn(value, key)) return undefined
    value = (value as Record<string, unknown>)[key]
  }
  return value
}
