// Reads `.env` files as the usual libraries do. `$NAME` inside of values is left as it is. Pure.

export type DotenvEntry = { name: string; value: string; line: number }
export type DotenvProblem = { line: number; message: string }

const ASSIGNMENT = /^[ \t]*(?:export[ \t]+)?([^\s=#]+)[ \t]*=[ \t]*/
const NAME = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/
const ESCAPES: Record<string, string> = { n: '\n', r: '\r', t: '\t', '"': '"', '\\': '\\', $: '$' }

/** A name that occurs again replaces the earlier one. */
export function parseDotenv(text: string): { entries: DotenvEntry[]; problems: DotenvProblem[] } {
  const rest = new Reader(text.replace(/^\uFEFF/, '').replaceAll(/\r\n?/g, '\n'))
  const entries = new Map<string, DotenvEntry>()
  const problems: DotenvProblem[] = []
  while (!rest.isAtEnd) {
    const { line } = rest
    const problem = (message: string) => problems.push({ line, message })
    if (/^[ \t]*(#|$)/.test(rest.peekLine())) {
      rest.skipLine()
      continue
    }
    const assignment = ASSIGNMENT.exec(rest.peekLine())
    if (!assignment) {
      problem('has no name and = sign')
      rest.skipLine()
      continue
    }
    rest.skip(assignment[0].length)
    const name = assignment[1]!
    const value = readValue(rest)
    if (value === undefined) problem(`${name}: the quote is not closed`)
    else if (!NAME.test(name))
      problem(`${name} is not a name: letters, digits and _, not beginning with a digit`)
    else {
      const earlier = entries.get(name)
      if (earlier) problem(`${name} occurs again; this one counts, not that of line ${earlier.line}`)
      // It moves to where it was written last.
      entries.delete(name)
      entries.set(name, { name, value, line })
    }
  }
  return { entries: [...entries.values()], problems }
}

class Reader {
  line = 1
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#text.length
  }

  peekLine(): string {
    const end = this.#text.indexOf('\n', this.#at)
    return this.#text.slice(this.#at, end === -1 ? undefined : end)
  }

  /** What is left of the text. */
  peek(): string {
    return this.#text.slice(this.#at)
  }

  skip(length: number): void {
    this.line += this.#text.slice(this.#at, this.#at + length).split('\n').length - 1
    this.#at += length
  }

  skipLine(): void {
    this.skip(this.peekLine().length + 1)
  }
}

/** Leaves the reader at the next line. Undefined if a quote is not closed: then only this line is skipped. */
function readValue(rest: Reader): string | undefined {
  const quote = rest.peekLine().charAt(0)
  if (quote !== '"' && quote !== "'" && quote !== '`') {
    const [value = ''] = /^.*?(?=\s+#|$)/.exec(rest.peekLine()) ?? []
    rest.skipLine()
    // `NAME= # note` has no value.
    return value.startsWith('#') ? '' : value.trim()
  }
  const quoted = quote === '"' ? /^"((?:[^"\\]|\\[\s\S])*)"/ : new RegExp(`^${quote}([^${quote}]*)${quote}`)
  const found = quoted.exec(rest.peek())
  if (!found) {
    rest.skipLine()
    return undefined
  }
  rest.skip(found[0].length)
  rest.skipLine()
  const inner = found[1]!
  return quote === '"' ? inner.replaceAll(/\\([\s\S])/g, (all, char: string) => ESCAPES[char] ?? all) : inner
}
