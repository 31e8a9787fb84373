import type { LiquidError } from 'liquidjs'
import { TAGS } from './engine.ts'
import { FILTERS } from './filters.ts'

/** What is wrong with a text, and where: the offset of a character. */
export type Problem = { at: number; message: string }

/** For people: the position is a character in a text of one line, else line and column. */
export function describeProblem(text: string, { at, message }: Problem): string {
  const before = text.slice(0, at).split('\n')
  const where = text.includes('\n')
    ? `at line ${before.length}, column ${before.at(-1)!.length + 1}`
    : `at character ${at + 1}`
  return `${message} (${where})`
}

/** What the parser rejected, in our words where people can fix it. */
export function parseProblem(error: unknown): Problem {
  const { token, message = '' } = error as Partial<LiquidError> & { token?: { begin: number } }
  return { at: token?.begin ?? 0, message: explain(message.replace(/, line:\d+, col:\d+$/, '')) }
}

function explain(message: string): string {
  const tag = /^tag "(.*)" not found$/s.exec(message)?.[1]
  if (tag !== undefined) {
    return /^(end.*|else|elsif|when)$/s.test(tag)
      ? `has {% ${shorten(tag)} %} without its opening tag`
      : `has the unknown tag "${shorten(tag)}"; available: ${TAGS.join(', ')}`
  }
  const filter = /^undefined filter: (.*)$/s.exec(message)?.[1]
  if (filter !== undefined)
    return `has the unknown filter "${shorten(filter)}"; available: ${FILTERS.join(', ')}`
  if (message.startsWith('Maximum call stack')) return 'has an expression that is nested too deeply'
  return `is not a valid template: ${shorten(message, 160)}`
}

/** Contains no value of a run: it may be a secret, and many people may see a delivery. */
export function renderProblem(error: unknown): string {
  const { token, message = '' } = error as Partial<LiquidError> & { token?: { begin: number; input: string } }
  const what = message.includes('limit exceeded')
    ? 'exceeds the render budget of a request'
    : 'could not be rendered: a filter does not accept this value'
  return token ? describeProblem(token.input, { at: token.begin, message: what }) : what
}

export function shorten(text: string, most = 60): string {
  return text.length > most ? `${text.slice(0, most)}…` : text
}
