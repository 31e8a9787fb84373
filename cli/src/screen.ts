// Where output goes: results to stdout, everything else to stderr. Colors and widths only on a terminal.

import { stripVTControlCharacters } from 'node:util'

const CODES = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, blue: 34, cyan: 36 } as const

export type Style = keyof typeof CODES

export type Screen = {
  /** Whether stdout is a terminal: live output, tables, questions. */
  isTerminal: boolean
  /** Whether questions can be asked. */
  isInteractive: boolean
  columns: number
  /** Whether stdout shows colors. */
  hasColor: boolean
  print(line?: string): void
  json(value: unknown): void
  /** For people only, on stderr: progress, hints, warnings. */
  note(line?: string): void
  /** Styles text for stdout. */
  style(style: Style, text: string): string
}

export function createScreen(env: NodeJS.ProcessEnv, wantsColor: boolean): Screen {
  const { stdin, stdout, stderr } = process
  const hasColor = wantsColor && usesColor(env, stdout.isTTY)
  return {
    isTerminal: stdout.isTTY === true,
    isInteractive: stdin.isTTY === true && stdout.isTTY === true && !env.CI,
    get columns() {
      return stdout.isTTY ? Math.max(20, stdout.columns || 80) : Number.POSITIVE_INFINITY
    },
    hasColor,
    print: (line = '') => void stdout.write(`${line}\n`),
    json: (value) => void stdout.write(`${JSON.stringify(value, null, stdout.isTTY ? 2 : undefined)}\n`),
    note: (line = '') => void stderr.write(`${stderr.isTTY ? wrap(line, stderr.columns) : line}\n`),
    style: (style, text) => (hasColor ? paint(style, text) : text),
  }
}

/**
 * Sentences break between words on a terminal, under where their text begins: behind spaces, and a mark or a number.
 * Words that are too long, such as URLs, and commands are left to the terminal, which keeps them in one piece for copying.
 */
export function wrap(text: string, columns: number | undefined): string {
  const width = Math.max(20, columns || 80)
  return text
    .split('\n')
    .map((line) => {
      const start = /^ *(?:(?:\u001b\[\d+m)?[^\w\s](?:\u001b\[0m)? |\d+\. )?/.exec(line)![0]
      const indent = visible(start)
      // Quoted logs stay as they are, and so does what people copy: commands.
      if (start.trim() === '│' || /(^|: )(gantry|npm|curl) /.test(line)) return line
      const lines = ['']
      for (const word of line.slice(start.length).match(/`[^`]*`\S*|\S+/g) ?? []) {
        const last = lines.length - 1
        const joined = lines[last] === '' ? word : `${lines[last]} ${word}`
        if (indent + visible(joined) <= width || lines[last] === '') lines[last] = joined
        else lines.push(word)
      }
      return start + lines.join(`\n${' '.repeat(indent)}`)
    })
    .join('\n')
}

const visible = (text: string) => stripVTControlCharacters(text).length

/** https://no-color.org, and FORCE_COLOR for logs that show colors. */
export function usesColor(env: NodeJS.ProcessEnv, isTerminal: boolean | undefined): boolean {
  if (env.NO_COLOR) return false
  if (env.FORCE_COLOR) return env.FORCE_COLOR !== '0'
  return isTerminal === true && env.TERM !== 'dumb'
}

export function paint(style: Style, text: string): string {
  return text === '' ? '' : `\u001b[${CODES[style]}m${text}\u001b[0m`
}

/** Text of others, shown on a terminal: without control characters, which could move the cursor or hide text. */
export function plain(text: string): string {
  return text.replaceAll(
    /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g,
    '',
  )
}
