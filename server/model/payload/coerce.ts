import { unstorableReason } from '#platform/http/json-body.ts'

export type VariableType = 'string' | 'integer' | 'boolean' | 'array'
export type VariableValue = string | number | boolean | unknown[]

type Coerced = { kind: 'value'; value: VariableValue } | { kind: 'invalid'; message: string }

const MAX_BYTES = 64 * 1024

const EXPECTED: Record<VariableType, string> = {
  string: 'a string, a number or a boolean',
  integer: 'an integer, or a string of digits, between -9007199254740991 and 9007199254740991',
  boolean: 'true or false',
  array: 'an array',
}

/**
 * A JSON value → a variable's value. `exactText` returns a number as the sender wrote it: JSON.parse rounds large
 * ones. Messages contain types and sizes, never contents.
 */
export function coerce(type: VariableType, found: unknown, exactText: () => string): Coerced {
  const value = convert(type, found, exactText)
  if (value === undefined)
    return { kind: 'invalid', message: `expected ${EXPECTED[type]}, found ${describe(found)}` }
  const error = sizeError(value) ?? contentError(value)
  return error ? { kind: 'invalid', message: error } : { kind: 'value', value }
}

function convert(type: VariableType, found: unknown, exactText: () => string): VariableValue | undefined {
  switch (type) {
    case 'string':
      if (typeof found === 'number') return exactText()
      return typeof found === 'boolean' ? String(found) : typeof found === 'string' ? found : undefined
    case 'integer': {
      const number = typeof found === 'string' && /^-?\d{1,32}$/.test(found) ? Number(found) : found
      // Never -0: it would be stored as 0 and compared as another.
      return Number.isSafeInteger(number) ? (number as number) + 0 : undefined
    }
    case 'boolean':
      if (found === 'true' || found === 'false') return found === 'true'
      return typeof found === 'boolean' ? found : undefined
    case 'array':
      return Array.isArray(found) ? found : undefined
  }
}

function sizeError(value: VariableValue): string | undefined {
  const text = typeof value === 'string' ? value : typeof value === 'object' ? JSON.stringify(value) : ''
  return Buffer.byteLength(text) > MAX_BYTES ? 'is longer than 64 KiB' : undefined
}

/** Strings that neither a column nor an environment variable can hold, numbers that JSON cannot; at any depth. */
function contentError(value: VariableValue): string | undefined {
  const open: unknown[] = [value]
  for (let current = open.pop(); current !== undefined; current = open.pop()) {
    if (typeof current === 'number' && !Number.isFinite(current)) return 'contains a number that is too large'
    const texts = typeof current === 'string' ? [current] : []
    if (typeof current === 'object' && current !== null) {
      for (const [key, child] of Object.entries(current)) {
        texts.push(key)
        open.push(child ?? null)
      }
    }
    const error = texts.map(unstorableReason).find((one) => one !== undefined)
    if (error) return error
  }
  return undefined
}

function describe(found: unknown): string {
  if (found === null || typeof found === 'boolean') return String(found)
  if (Array.isArray(found)) return `an array of ${found.length}`
  if (typeof found === 'string') return `a string of ${found.length} characters`
  return typeof found === 'number' ? 'a number' : 'an object'
}
