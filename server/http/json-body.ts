/**
 * Bytes → JSON value, or the reason why not. Stricter than `JSON.parse`: UTF-8 only, bounded depth, no
 * `__proto__` key, and no text that PostgreSQL cannot store (U+0000, lone surrogates).
 */
export type ParsedBody =
  | { kind: 'parsed'; value: unknown }
  | { kind: 'malformed'; message: string }
  | { kind: 'unstorable'; field: string; message: string }

export const MAX_DEPTH = 64

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

/** Walks without recursion: depth is what an attacker chooses. */
function inspect(value: unknown): ParsedBody {
  const open: { value: unknown; path: string; depth: number }[] = [{ value, path: '', depth: 0 }]
  for (let item = open.pop(); item; item = open.pop()) {
    const { value: current, path, depth } = item
    if (typeof current === 'string') {
      const fault = faultOfText(current)
      if (fault) return { kind: 'unstorable', field: path || 'body', message: fault }
    }
    if (typeof current !== 'object' || current === null) continue
    if (depth >= MAX_DEPTH)
      return { kind: 'malformed', message: `The body is nested deeper than ${MAX_DEPTH} levels.` }
    for (const [key, child] of Object.entries(current)) {
      if (key === '__proto__') return { kind: 'malformed', message: 'The body has a key named __proto__.' }
      const childPath = path === '' ? key : `${path}.${key}`
      const fault = faultOfText(key)
      if (fault) return { kind: 'unstorable', field: path || 'body', message: `has a key that ${fault}` }
      open.push({ value: child, path: childPath, depth: depth + 1 })
    }
  }
  return { kind: 'parsed', value }
}

/** Why PostgreSQL could not store this text; undefined when it can. */
export function faultOfText(text: string): string | undefined {
  if (text.includes('\0')) return 'must not contain the character U+0000'
  if (!text.isWellFormed()) return 'must not contain half of a surrogate pair'
  return undefined
}
