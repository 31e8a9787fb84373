import type { Context } from 'liquidjs'
import { asText } from './filters.ts'

/** A name that is put out as it is: the way to its value, and how the text is written. */
export type DirectOutput = { keys: readonly string[]; write: (text: string) => string }

/**
 * Most texts are words around a few plain names. Those are put together here: the stock renderer drives
 * generators for every part of every name, which takes ten times as long.
 */
export type DirectText = readonly (string | DirectOutput)[]

/** Keys that mean more than a property; names with them go the long way. */
const COMPUTED = new Set(['first', 'last', 'size'])

export function canBeDirect(keys: readonly string[]): boolean {
  return !keys.some((key) => COMPUTED.has(key))
}

export function renderDirect(parts: DirectText, context: Context): string {
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
