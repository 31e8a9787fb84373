import type { CapturedValue, CapturedValues } from '#model/hooks/captured.ts'
import type { HookCapture } from '#model/hooks/schemas.ts'
import { coerce } from '#model/payload/coerce.ts'
import { parsePath, readPath } from '#model/payload/payload-path.ts'
import { isLargeInteger, parseExactly } from '#platform/exact-json.ts'

/** How much of an answer is read when a hook captures values. */
export const MAX_CAPTURE_BYTES = 256 * 1024
const MAX_VALUE_BYTES = 4 * 1024
/** Shorter texts cannot be masked. */
const MIN_HIDDEN_LENGTH = 4

export type CaptureRule = Required<Pick<HookCapture, 'name' | 'type' | 'required' | 'hidden'>> & HookCapture

type Answer = { headers: Record<string, string | string[]>; body: Buffer }

/**
 * What an answer says about the values that a hook captures. `error` names each required one that is neither in this answer
 * nor `known`, and each that cannot be used; it contains types and sizes, never contents. Pure.
 */
export function readCaptures(
  rules: readonly CaptureRule[],
  answer: Answer,
  known: CapturedValues,
): { values: Record<string, CapturedValue>; error: string | null } {
  const json = rules.some(({ path }) => path !== undefined) ? parseAnswer(answer.body) : null
  const values: [name: string, value: CapturedValue][] = []
  const problems: string[] = []
  for (const rule of rules) {
    const read = readOne(rule)
    if (read.kind === 'value') values.push([rule.name, read.value])
    else if (read.kind === 'invalid' || (rule.required && !Object.hasOwn(known, rule.name)))
      problems.push(`${rule.name}: ${read.message}.`)
  }
  // Entries, because a name may be `__proto__`.
  return { values: Object.fromEntries(values), error: problems.length === 0 ? null : problems.join(' ') }

  function readOne(rule: CaptureRule): ReadValue {
    const { path, header } = rule
    if (header === undefined && json?.kind !== 'json') return missing(json?.message ?? '')
    const found = find(rule, answer, json)
    if (found != null) return use(found, rule)
    return missing(`the response has no ${header === undefined ? path : `header ${header}`}`)
  }
}

/**
 * Every text that an answer has where a hook captures hidden values, usable or not: it is masked in records. Null: the answer
 * is cut off, and may contain some that cannot be found. Pure.
 */
export function hiddenTexts(rules: readonly CaptureRule[], answer: Answer): string[] | null {
  const hidden = rules.filter((rule) => rule.hidden)
  if (hidden.length === 0) return []
  const isInBody = hidden.some(({ path }) => path !== undefined)
  if (isInBody && answer.body.length >= MAX_CAPTURE_BYTES) return null
  const json = isInBody ? parseAnswer(answer.body) : null
  const texts: string[] = []
  const open = hidden.map((rule) => find(rule, answer, json))
  for (let value = open.pop(); value !== undefined || open.length > 0; value = open.pop()) {
    if (isLargeInteger(value)) texts.push(value.rawJSON)
    else if (typeof value === 'object' && value !== null)
      for (const one of Object.values(value)) open.push(one)
    else if (typeof value === 'string' || typeof value === 'number') texts.push(String(value))
  }
  return texts
}

function find({ path, header }: CaptureRule, answer: Answer, json: Parsed | null): unknown {
  if (header !== undefined) return [answer.headers[header.toLowerCase()]].flat()[0]
  const parsed = parsePath(path!)
  return json?.kind === 'json' && parsed.kind === 'path' ? readPath(json.value, parsed.keys) : undefined
}

function use(found: unknown, { type, hidden }: CaptureRule): ReadValue {
  const digits = isLargeInteger(found) ? found.rawJSON : undefined
  const coerced = coerce(type, digits === undefined ? found : Number(digits), () => digits ?? String(found))
  if (coerced.kind === 'invalid') return coerced
  const value = coerced.value as CapturedValue
  const text = String(value)
  const bytes = Buffer.byteLength(text)
  if (bytes > MAX_VALUE_BYTES) return invalid(`${bytes} bytes, more than the maximum of ${MAX_VALUE_BYTES}`)
  if (hidden && text.trim().length < MIN_HIDDEN_LENGTH)
    return invalid(`a hidden value needs at least ${MIN_HIDDEN_LENGTH} characters`)
  return { kind: 'value', value }
}

type ReadValue = { kind: 'value'; value: CapturedValue } | { kind: 'missing' | 'invalid'; message: string }

const missing = (message: string): ReadValue => ({ kind: 'missing', message })
const invalid = (message: string): ReadValue => ({ kind: 'invalid', message })

const utf8 = new TextDecoder('utf-8', { fatal: true })

type Parsed = { kind: 'json'; value: unknown } | { kind: 'not-json'; message: string }

function parseAnswer(body: Buffer): Parsed {
  if (body.length >= MAX_CAPTURE_BYTES)
    return { kind: 'not-json', message: `the response is longer than ${MAX_CAPTURE_BYTES / 1024} KiB` }
  try {
    return { kind: 'json', value: parseExactly(utf8.decode(body)) }
  } catch {
    return {
      kind: 'not-json',
      message: body.length === 0 ? 'the response is empty' : 'the response is not JSON',
    }
  }
}
