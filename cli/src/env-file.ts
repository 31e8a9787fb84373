// Files of NAME=value lines, as docker, systemd and dotenv read them.
import { usage } from './failure.ts'
import { readFileOrInput } from './stdin.ts'

const LINE = /^(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)$/s

type Parsed = { kind: 'values'; values: Map<string, string> } | { kind: 'invalid'; line: number }

/** Never shows a line of the file: whatever is wrong with it, it may be a secret. */
export async function readEnvFile(file: string): Promise<Map<string, string>> {
  const parsed = parseEnvFile(await readFileOrInput(file))
  if (parsed.kind === 'values') return parsed.values
  throw usage(
    `${file}:${parsed.line} is not a variable.`,
    'Lines are NAME=value, `export NAME=value`, or comments that begin with #.',
  )
}

/**
 * Values are taken as they are written, or up to the closing quote: 'literal', "with \n, \t, \" and \\". Quoted ones may
 * have several lines. Without quotes, ` #` begins a comment. Nothing is expanded.
 */
function parseEnvFile(text: string): Parsed {
  const values = new Map<string, string>()
  const lines = text.replace(/^\ufeff/, '').split(/\r\n|\r|\n/)
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at]!.trim()
    if (line === '' || line.startsWith('#')) continue
    const [, name, rest] = LINE.exec(line) ?? []
    if (name === undefined || rest === undefined) return { kind: 'invalid', line: at + 1 }
    const quote = /^["']/.exec(rest)?.[0]
    if (!quote) {
      values.set(name, rest.replace(/(^|\s)#.*$/, '').trimEnd())
      continue
    }
    // Only the end of the value may follow on later lines, so these are not trimmed.
    let quoted = lines[at]!.slice(lines[at]!.indexOf(quote) + 1)
    const first = at
    while (closingQuote(quoted, quote) === -1 && at + 1 < lines.length) {
      at += 1
      quoted += `\n${lines[at]!}`
    }
    const end = closingQuote(quoted, quote)
    if (end === -1 || !/^\s*(#.*)?$/.test(quoted.slice(end + 1))) return { kind: 'invalid', line: first + 1 }
    values.set(name, quote === '"' ? unescapeText(quoted.slice(0, end)) : quoted.slice(0, end))
  }
  return { kind: 'values', values }
}

function closingQuote(text: string, quote: string): number {
  for (let at = 0; at < text.length; at += 1) {
    if (text[at] === quote) return at
    if (text[at] === '\\' && quote === '"') at += 1
  }
  return -1
}

const ESCAPES: Record<string, string> = { n: '\n', r: '\r', t: '\t' }

const unescapeText = (text: string) =>
  text.replaceAll(/\\(.)/gs, (whole, character: string) =>
    ['"', '\\', '$'].includes(character) ? character : (ESCAPES[character] ?? whole),
  )
