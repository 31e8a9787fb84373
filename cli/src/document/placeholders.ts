import { LineCounter, parseDocument, visit } from 'yaml'

/** Where `${NAME}` stands for the first time. */
type Placeholder = { name: string; line: number; column: number }

const PLACEHOLDER = /\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]{0,63})\}/g

/** The values that a document needs; none when it is not YAML, about which the server says more. Pure. */
export function findPlaceholders(text: string): Placeholder[] {
  const lineCounter = new LineCounter()
  const document = parseDocument(text, {
    lineCounter,
    prettyErrors: false,
    logLevel: 'silent',
    // Not an error here: the server says more about it.
    uniqueKeys: false,
  })
  const found = new Map<string, Placeholder>()
  if (document.errors.length > 0) return []
  visit(document, {
    Scalar(key, { value, range }) {
      // Names are never filled in.
      if (key === 'key' || typeof value !== 'string') return
      for (const [, name] of value.matchAll(PLACEHOLDER)) {
        if (name === undefined || found.has(name)) continue
        const { line, col } = lineCounter.linePos(range?.[0] ?? 0)
        found.set(name, { name, line, column: col })
      }
    },
  })
  return [...found.values()]
}
