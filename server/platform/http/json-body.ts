/**
 * Bytes → JSON value, or the reason why not. Stricter than `JSON.parse`: UTF-8 only, bounded depth, no
 * `__proto__` key, and no text that PostgreSQL cannot store (U+0000, lone surrogates).
 */
export type ParsedBody =
  | { kind: 'parsed'; value: unknown }
  | { kind: 'malformed'; message: string }
  | { kind: 'unstorable'; field: string; message: string }

export const MAX_DEPTH = 64
const MOST_FIELD_CHARACTERS = 256

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

export function parseJsonBody(bytes: Buffer): ParsedBody {
  let text: string
  try {
    text = utf8.decode(bytes)
  } catch {
    return { kind: 'malformed', message: 'The body is not valid UTF-8.' }
  }
  if (text.trim() === '')
    return { kind: 'malformed', message: 'The body is empty; a JSON value is expected.' }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return { kind: 'malformed', message: 'The body is not valid JSON.' }
  }
  return inspect(value)
}

type Container = { value: object; depth: number; key: string; parent: Container | null }

/** Walks without recursion: depth is what an attacker chooses. So is width: a plain number costs nothing. */
function inspect(value: unknown): ParsedBody {
  const open: Container[] = []
  let refusal = meet(value, '', null)
  for (let item = open.pop(); item && !refusal; item = open.pop()) {
    if (Array.isArray(item.value)) {
      for (let index = 0; index < item.value.length && !refusal; index++)
        refusal = meet(item.value[index], index, item)
    } else {
      for (const [key, child] of Object.entries(item.value))
        refusal ??= faultOfKey(key, item) ?? meet(child, key, item)
    }
  }
  return refusal ?? { kind: 'parsed', value }

  function meet(child: unknown, key: string | number, parent: Container | null): ParsedBody | undefined {
    if (typeof child === 'string') {
      const fault = unstorableReason(child)
      return fault ? { kind: 'unstorable', field: fieldOf(String(key), parent), message: fault } : undefined
    }
    if (typeof child !== 'object' || child === null) return undefined
    const depth = parent === null ? 1 : parent.depth + 1
    if (depth > MAX_DEPTH)
      return { kind: 'malformed', message: `The body is nested deeper than ${MAX_DEPTH} levels.` }
    open.push({ value: child, depth, key: String(key), parent })
    return undefined
  }
}

function faultOfKey(key: string, holder: Container): ParsedBody | undefined {
  if (key === '__proto__') return { kind: 'malformed', message: 'The body has a key named __proto__.' }
  const fault = unstorableReason(key)
  if (!fault) return undefined
  return {
    kind: 'unstorable',
    field: fieldOf(holder.key, holder.parent),
    message: `has a key that ${fault}`,
  }
}

/** The dotted path of `key` in `holder`; the body itself has no key. */
function fieldOf(key: string, holder: Container | null): string {
  const parts: string[] = []
  for (let at = holder, name = key; at; name = at.key, at = at.parent) parts.unshift(name)
  return parts.join('.').slice(0, MOST_FIELD_CHARACTERS) || 'body'
}

/** Why PostgreSQL could not store this text; undefined when it can. */
export function unstorableReason(text: string): string | undefined {
  if (text.includes('\0')) return 'must not contain the character U+0000'
  if (!text.isWellFormed()) return 'must not contain half of a surrogate pair'
  return undefined
}
