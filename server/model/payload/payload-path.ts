/**
 * The little language in which hooks point into JSON: `a.b.0.c`, `a["x.y"]`, `a\.b`. A path is a list of
 * keys; on an array a key of digits is an index.
 */
export type PayloadPath = readonly string[]

export type ParsedPath = { kind: 'path'; keys: PayloadPath } | { kind: 'fault'; message: string }

const MOST_CHARACTERS = 512

export function parsePath(text: string): ParsedPath {
  if (text === '') return { kind: 'fault', message: 'is empty' }
  if (text.length > MOST_CHARACTERS)
    return { kind: 'fault', message: `is longer than ${MOST_CHARACTERS} characters` }
  const keys: string[] = []
  let at = 0
  while (at < text.length) {
    const part = text[at] === '[' ? readBracket(text, at) : readName(text, at)
    if ('fault' in part) return { kind: 'fault', message: part.fault }
    keys.push(part.key)
    at = part.end
    if (text[at] === '.') {
      at += 1
      if (at === text.length) return { kind: 'fault', message: 'ends with a dot' }
    } else if (at < text.length && text[at] !== '[') {
      return { kind: 'fault', message: `has something between "]" and the next dot, at character ${at + 1}` }
    }
  }
  return { kind: 'path', keys }
}

type Part = { key: string; end: number } | { fault: string }

/** A plain name up to the next dot or bracket; a backslash takes the following character as it is. */
function readName(text: string, start: number): Part {
  let key = ''
  let at = start
  for (; at < text.length && text[at] !== '.' && text[at] !== '['; at += 1) {
    if (text[at] === ']') return { fault: `has a "]" without "[", at character ${at + 1}` }
    if (text[at] === '\\') {
      at += 1
      if (at === text.length) return { fault: 'ends with a backslash' }
    }
    key += text[at]
  }
  return key === '' ? { fault: `has an empty name at character ${start + 1}` } : { key, end: at }
}

/** `["any key"]`, `['any key']` or `[0]`. */
function readBracket(text: string, start: number): Part {
  const index = /^\[(\d{1,9})\]/.exec(text.slice(start))
  if (index) return { key: index[1]!, end: start + index[0].length }
  const quoted = /^\[(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)')\]/s.exec(text.slice(start))
  if (!quoted) return { fault: `has a bracket that is not like ["key"] or [0], at character ${start + 1}` }
  const key = (quoted[1] ?? quoted[2] ?? '').replaceAll(/\\(.)/gs, '$1')
  return { key, end: start + quoted[0].length }
}
