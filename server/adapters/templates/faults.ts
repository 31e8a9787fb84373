import type { LiquidError } from 'liquidjs'
import { TAGS } from './engine.ts'
import { FILTERS } from './filters.ts'

/** Something wrong with a text, and where: the offset of the character at which it begins. */
export type Fault = { at: number; message: string }

/** What is wrong and where, for people: a character in a text of one line, else line and column. */
export function describeFault(text: string, { at, message }: Fault): string {
  const before = text.slice(0, at).split('\n')
  const place =
    text.includes('\n') && before.length > 0
      ? `at line ${before.length}, column ${before.at(-1)!.length + 1}`
      : `at character ${at + 1}`
  return `${message} (${place})`
}

/** What the parser refused, in our words where a person can do something about it. */
export function parsingFault(error: unknown): Fault {
  const { token, message = '' } = error as Partial<LiquidError> & { token?: { begin: number } }
  return { at: token?.begin ?? 0, message: explain(message.replace(/, line:\d+, col:\d+$/, '')) }
}

function explain(message: string): string {
  const tag = /^tag "(.*)" not found$/s.exec(message)?.[1]
  if (tag !== undefined) {
    return /^(end.*|else|elsif|when)$/s.test(tag)
      ? `has {% ${cut(tag)} %} without its beginning`
      : `has the tag "${cut(tag)}", which is not known here; known: ${TAGS.join(', ')}`
  }
  const filter = /^undefined filter: (.*)$/s.exec(message)?.[1]
  if (filter !== undefined)
    return `has the filter "${cut(filter)}", which is not known here; known: ${FILTERS.join(', ')}`
  if (message.startsWith('Maximum call stack')) return 'has an expression that is nested too deep'
  return `cannot be read as a template: ${cut(message, 160)}`
}

/** Says no value of a run: it may be a secret, and what people see of a delivery may be seen by many. */
export function renderingFault(error: unknown): string {
  const { token, message = '' } = error as Partial<LiquidError> & { token?: { begin: number; input: string } }
  const what = message.includes('limit exceeded')
    ? 'asks for more work than a template may do'
    : 'could not be rendered: a filter does not take this value'
  return token ? describeFault(token.input, { at: token.begin, message: what }) : what
}

/** Whether the clock ended it, not what it cost. */
export function isLate(error: unknown): boolean {
  return (error as Error).message.startsWith('template render limit exceeded')
}

export function cut(text: string, most = 60): string {
  return text.length > most ? `${text.slice(0, most)}…` : text
}
