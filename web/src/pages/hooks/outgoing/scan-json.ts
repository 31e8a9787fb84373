// Where the values of a JSON text are, or where it stops being JSON. Pure.

type Scanned = { kind: 'valid'; starts: ReadonlyMap<string, number> } | { kind: 'invalid'; at: number }

const SPACE = /[ \t\n\r]*/y
const STRING = /"(?:[^"\\\0-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y
const SCALAR = /(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)(?![\w.+-])/y

/** Thrown and caught in this file. */
class Unexpected extends Error {}

/** `starts` are offsets by path, as the API writes it: `blocks.0.text`; the whole is at ''. */
export function scanJson(text: string): Scanned {
  const starts = new Map<string, number>()
  let at = 0
  try {
    readValue('')
    skip(SPACE)
    return at === text.length ? { kind: 'valid', starts } : { kind: 'invalid', at }
  } catch (error) {
    if (!(error instanceof Unexpected)) throw error
    return { kind: 'invalid', at }
  }

  function skip(pattern: RegExp): string {
    pattern.lastIndex = at
    const found = pattern.exec(text)?.[0] ?? ''
    at += found.length
    return found
  }

  function need(found: string): string {
    if (found === '') throw new Unexpected()
    return found
  }

  function readValue(path: string): void {
    skip(SPACE)
    starts.set(path, at)
    if (text[at] === '{') readList('}', path, () => JSON.parse(readKey()) as string)
    else if (text[at] === '[') readList(']', path, (index) => String(index))
    else need(skip(STRING) || skip(SCALAR))
  }

  function readKey(): string {
    skip(SPACE)
    const key = need(skip(STRING))
    skip(SPACE)
    need(skip(/:/y))
    return key
  }

  function readList(end: string, path: string, keyOf: (index: number) => string): void {
    at += 1
    skip(SPACE)
    for (let index = 0; text[at] !== end; index++) {
      if (index > 0) need(skip(/,/y))
      const key = keyOf(index)
      readValue(path === '' ? key : `${path}.${key}`)
      skip(SPACE)
    }
    at += 1
  }
}

/** `line 3, column 7`. */
export function lineAndColumn(text: string, at: number): string {
  const lines = text.slice(0, at).split('\n')
  return `line ${lines.length}, column ${lines.at(-1)!.length + 1}`
}
