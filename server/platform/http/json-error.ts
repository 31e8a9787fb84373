// Why a text is not JSON, and where. `JSON.parse` does not always tell the position, and quotes what it read: a body may
// hold secrets, so nothing of it is repeated here.

/** An error at an offset of the text. */
type Found = { at: number; expected: string }

/** Looking for an error takes ten times as long as `JSON.parse`, and anybody can send a megabyte. */
const MAX_LENGTH = 128 * 1024

/** `line 3, column 5: expected "," or "}"`, of a text that `JSON.parse` has rejected. Linear, without recursion. */
export function describeJsonError(text: string): string {
  if (text.length > MAX_LENGTH) return 'the position of an error is shown in up to 128 KiB'
  const { at, expected } = findJsonError(text) ?? { at: text.length, expected: 'expected valid JSON' }
  const before = text.slice(0, at)
  const line = before.split('\n').length
  // In characters, as editors count them, not in UTF-16 units.
  const column = Array.from(before.slice(before.lastIndexOf('\n') + 1)).length + 1
  return `line ${line}, column ${column}: ${expected}`
}

const VALUE =
  'expected a value: an object, an array, a string in double quotes, a number, true, false or null'
const KEY = 'expected a property name in double quotes'

const WHITESPACE = /[ \t\n\r]*/y
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const WORD = /true|false|null/y
const PLAIN = /[^"\\\u0000-\u001f]*/y
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y

/** Undefined when the text is valid JSON. */
export function findJsonError(text: string): Found | undefined {
  /** The brackets that are open. */
  const open: ('{' | '[')[] = []
  let at = 0
  /** What may come next: a value; the first key or element, or the end; another key; or what follows a value. */
  const state: { next: 'value' | 'first' | 'key' | 'after' } = { next: 'value' }

  function skip(pattern: RegExp): boolean {
    pattern.lastIndex = at
    const matched = pattern.test(text)
    if (matched) at = pattern.lastIndex
    return matched
  }
  const fail = (expected: string): Found => ({ at, expected })

  /** From its opening quote to its closing one. */
  function skipString(): Found | undefined {
    const start = at
    at += 1
    for (;;) {
      skip(PLAIN)
      if (text[at] === '"') {
        at += 1
        return undefined
      }
      if (at >= text.length)
        return { at: start, expected: 'the string that starts here has no closing quote' }
      if (text[at] !== '\\') return fail('line breaks and control characters in strings must be escaped')
      if (!skip(ESCAPE)) return fail('expected an escape such as \\n, \\", \\\\ or \\u0041')
    }
  }

  function skipValue(): Found | undefined {
    const first = text[at]
    if (first === '{' || first === '[') {
      open.push(first)
      at += 1
      state.next = 'first'
      return undefined
    }
    state.next = 'after'
    if (first === '"') return skipString()
    if (skip(WORD)) return undefined
    return skip(NUMBER) ? undefined : fail(VALUE)
  }

  function skipKey(expected: string): Found | undefined {
    if (text[at] !== '"') return fail(expected)
    const error = skipString()
    if (error) return error
    skip(WHITESPACE)
    if (text[at] !== ':') return fail('expected ":" after the property name')
    at += 1
    state.next = 'value'
    return undefined
  }

  if (text.startsWith('\ufeff')) return fail('a byte order mark is not allowed')
  for (;;) {
    skip(WHITESPACE)
    const inside = open.at(-1)
    const closing = inside === '{' ? '}' : ']'
    let error: Found | undefined
    if (state.next === 'value') error = skipValue()
    else if (state.next === 'key') error = skipKey(`${KEY}; a comma must not come before "}"`)
    else if (state.next === 'first' && text[at] !== closing)
      error = inside === '{' ? skipKey(`${KEY}, or "}"`) : skipValue()
    else if (inside === undefined) return at < text.length ? fail('expected the end of the body') : undefined
    else if (text[at] === closing) {
      open.pop()
      at += 1
      state.next = 'after'
    } else if (text[at] === ',') {
      at += 1
      state.next = inside === '{' ? 'key' : 'value'
    } else error = fail(`expected "," or "${closing}"`)
    if (error) return error
  }
}
