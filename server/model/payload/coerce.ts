import { unstorableReason } from '#platform/http/json-body.ts'

export type VariableType = 'string' | 'integer' | 'boolean' | 'array'
export type VariableValue = string | number | boolean | unknown[]

export type Coerced = { kind: 'value'; value: VariableValue } | { kind: 'fault'; message: string }

const MOST_BYTES = 64 * 1024

const EXPECTED: Record<VariableType, string> = {
  string: 'a text, a number or a boolean',
  integer: 'an integer, or a text of digits, between -9007199254740991 and 9007199254740991',
  boolean: 'true or false',
  array: 'an array',
}

/**
 * A JSON value that is there → a variable's value. `exactText` gives a number as the sender wrote it:
 * JSON.parse rounds large ones. Messages tell kinds and sizes, never contents.
 */
export function coerce(type: VariableType, found: unknown, exactText: () => string): Coerced {
  const value = convert(type, found, exactText)
  if (value === undefined)
    return { kind: 'fault', message: `expected ${EXPECTED[type]}, found ${describe(found)}` }
  const fault = faultOfSize(value) ?? faultOfContents(value)
  return fault ? { kind: 'fault', message: fault } : { kind: 'value', value }
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

function faultOfSize(value: VariableValue): string | undefined {
  const text = typeof value === 'string' ? value : typeof value === 'object' ? JSON.stringify(value) : ''
  return Buffer.byteLength(text) > MOST_BYTES ? 'is longer than 64 KiB' : undefined
}

/** Texts that no column and no environment can hold, numbers that JSON cannot; also deep inside arrays. */
function faultOfContents(value: VariableValue): string | undefined {
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
    const fault = texts.map(unstorableReason).find((one) => one !== undefined)
    if (fault) return fault
  }
  return undefined
}

function describe(found: unknown): string {
  if (found === null) return 'null'
  if (Array.isArray(found)) return `an array of ${found.length}`
  switch (typeof found) {
    case 'string':
      return `a text of ${found.length} characters`
    case 'number':
      return 'a number'
    case 'boolean':
      return String(found)
    default:
      return 'an object'
  }
}
