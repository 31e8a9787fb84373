// The payload room: reads values from JSON payloads by path, for conditions and variables of hooks.

/** Hooks address values as `a.b.0.c`, `a["x.y"]` or `a\.b`. A path is a list of keys; on an array, digits are an index. */
export type PayloadPath = readonly string[]

type ParsedPath = { kind: 'path'; keys: PayloadPath } | { kind: 'invalid'; message: string }

const MAX_LENGTH = 512

export function parsePath(text: string): ParsedPath {
  if (text === '') return { kind: 'invalid', message: 'is empty' }
  if (text.length > MAX_LENGTH) return { kind: 'invalid', message: `is longer than ${MAX_LENGTH} characters` }
  const keys: string[] = []
  let at = 0
  while (at < text.length) {
    const part = text[at] === '[' ? readBracket(text, at) : readName(text, at)
    if ('error' in part) return { kind: 'invalid', message: part.error }
    keys.push(part.key)
    at = part.end
    if (text[at] === '.') {
      at += 1
      if (at === text.length) return { kind: 'invalid', message: 'ends with a dot' }
    } else if (at < text.length && text[at] !== '[') {
      return { kind: 'invalid', message: `has text between "]" and the next dot, at character ${at + 1}` }
    }
  }
  return { kind: 'path', keys }
}

type Part = { key: string; end: number } | { error: string }

/** A plain name up to the next dot or bracket; a backslash escapes the next character. */
function readName(text: string, start: number): Part {
  let key = ''
  let at = start
  for (; at < text.length && text[at] !== '.' && text[at] !== '['; at += 1) {
    if (text[at] === ']') return { error: `has a "]" without "[", at character ${at + 1}` }
    if (text[at] === '\\') {
      at += 1
      if (at === text.length) return { error: 'ends with a backslash' }
    }
    key += text[at]
  }
  return key === '' ? { error: `has an empty name at character ${start + 1}` } : { key, end: at }
}

/** `["any key"]`, `['any key']` or `[0]`. */
function readBracket(text: string, start: number): Part {
  const index = /^\[(\d{1,9})\]/.exec(text.slice(start))
  if (index) return { key: index[1]!, end: start + index[0].length }
  const quoted = /^\[(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)')\]/s.exec(text.slice(start))
  if (!quoted) return { error: `has a bracket that is not like ["key"] or [0], at character ${start + 1}` }
  const key = (quoted[1] ?? quoted[2] ?? '').replaceAll(/\\(.)/gs, '$1')
  return { key, end: start + quoted[0].length }
}

/** The value at a path, or undefined. Own properties only; on an array a key of digits is an index. */
export function readPath(value: unknown, path: PayloadPath): unknown {
  let current = value
  for (const key of path) {
    if (Array.isArray(current)) {
      if (!/^(0|[1-9]\d{0,9})$/.test(key)) return undefined
      current = current[Number(key)]
    } else if (typeof current === 'object' && current !== null && Object.hasOwn(current, key)) {
      current = (current as Record<string, unknown>)[key]
    } else {
      return undefined
    }
  }
  return current
}
