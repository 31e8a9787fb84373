// A JSON text as nodes of a tree: numbers as they were written, paths as hooks write them. Pure.

/** A number as the sender wrote it: JavaScript would round large ones and drop the zero of 1.0. */
export class ExactNumber {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
  toJSON(): unknown {
    return rawJson?.(this.text) ?? Number(this.text)
  }
}

const rawJson = (JSON as typeof JSON & { rawJSON?(text: string): unknown }).rawJSON

export type JsonKind = 'object' | 'array' | 'string' | 'number' | 'boolean' | 'null'

/** A value that a person chose: where it is, in the syntax of hook settings. */
export type JsonPick = { path: string; value: unknown; type: JsonKind }

type ParsedJson = { kind: 'json'; value: unknown } | { kind: 'text' }

/** More than any payload that Gantry accepts; what is nested deeper is not worth a tree. */
const MAX_DEPTH = 200

/** Not every body is JSON. */
export function parseJson(text: string): ParsedJson {
  if (nestingOf(text) > MAX_DEPTH) return { kind: 'text' }
  try {
    return { kind: 'json', value: JSON.parse(text, keepDigits) }
  } catch {
    return { kind: 'text' }
  }
}

function nestingOf(text: string): number {
  let depth = 0
  let deepest = 0
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|[[{\]}]/g)) {
    if (token === '[' || token === '{') deepest = Math.max(deepest, ++depth)
    else if (token === ']' || token === '}') depth -= 1
  }
  return deepest
}

function keepDigits(_key: string, value: unknown, context?: { source?: string }): unknown {
  if (typeof value !== 'number') return value
  const source = context?.source
  return source === undefined || source === String(value) ? value : new ExactNumber(source)
}

export function kindOf(value: unknown): JsonKind {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  if (typeof value === 'number' || value instanceof ExactNumber) return 'number'
  if (typeof value === 'string' || typeof value === 'boolean') return typeof value as JsonKind
  return 'object'
}

export function isContainer(value: unknown): value is object {
  const kind = kindOf(value)
  return kind === 'object' || kind === 'array'
}

/** The keys of what is inside; the indices of an array. */
export function keysOf(value: unknown): string[] {
  return isContainer(value) ? Object.keys(value) : []
}

export function childOf(value: unknown, key: string): unknown {
  return (value as Record<string, unknown>)[key]
}

/** A scalar as it stands in the JSON text; a container by its size. */
export function valueText(value: unknown): string {
  switch (kindOf(value)) {
    case 'array':
      return `[${(value as unknown[]).length}]`
    case 'object':
      return `{${Object.keys(value as object).length}}`
    case 'number':
      return value instanceof ExactNumber ? value.text : String(value)
    default:
      return JSON.stringify(value)
  }
}

/** The path in the syntax of hook settings: `commits.0.id`, `labels["a.b"]`. */
export function hookPath(keys: readonly string[]): string {
  let path = ''
  for (const key of keys) {
    const isPlain = key !== '' && !/[.[\]\\\s"']/.test(key)
    if (!isPlain) path += `["${key.replaceAll(/["\\]/g, '\\$&')}"]`
    else path += path === '' ? key : `.${key}`
  }
  return path
}
