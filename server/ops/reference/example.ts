/** More than a reader looks through. */
const MAX_LINES = 60
const DEPTH = 2

/**
 * An example as text. A long one is shortened to its outline: of every list the first item, and of what is deep inside
 * only that it is there. Pure.
 */
export function exampleText(value: unknown): { text: string; isShortened: boolean } {
  if (typeof value === 'string') return { text: value, isShortened: false }
  const text = JSON.stringify(value, null, 2)
  if (text.split('\n').length <= MAX_LINES) return { text, isShortened: false }
  return { text: outline(value, 0), isShortened: true }
}

/** The list itself does not count: its items are what is shown. */
function outline(value: unknown, depth: number, indent = ''): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const inner = `${indent}  `
  if (Array.isArray(value)) {
    if (value.length === 0) return '[]'
    const more = value.length > 1 ? `,\n${inner}…` : ''
    return `[\n${inner}${outline(value[0], depth, inner)}${more}\n${indent}]`
  }
  const fields = Object.entries(value)
  if (fields.length === 0) return '{}'
  if (depth >= DEPTH) return '{ … }'
  const lines = fields.map(
    ([name, one]) => `${inner}${JSON.stringify(name)}: ${outline(one, depth + 1, inner)}`,
  )
  return `{\n${lines.join(',\n')}\n${indent}}`
}
