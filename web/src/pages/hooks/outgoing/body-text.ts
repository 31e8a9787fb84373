// The template of a request body as people edit it: the text of a JSON object. Pure.
import { ExactNumber, parseJson } from '#web/shared/editor/json-nodes.ts'
import { lineAndColumn, scanJson } from './scan-json.ts'

export type ParsedBody =
  /** An empty text: the event itself is sent. */
  { kind: 'default' } | { kind: 'body'; body: Record<string, unknown> } | { kind: 'invalid'; message: string }

/** Integers keep their digits, however many there are. */
export function parseBody(text: string): ParsedBody {
  if (text.trim() === '') return { kind: 'default' }
  const parsed = parseJson(text)
  if (parsed.kind === 'text') return { kind: 'invalid', message: syntaxError(text) }
  const { value } = parsed
  if (typeof value !== 'object' || value === null || Array.isArray(value) || value instanceof ExactNumber)
    return { kind: 'invalid', message: 'Must be a JSON object: { … }.' }
  return { kind: 'body', body: value as Record<string, unknown> }
}

function syntaxError(text: string): string {
  const scanned = scanJson(text)
  if (scanned.kind === 'valid') return 'Is nested too deeply.'
  return `Is not valid JSON (${lineAndColumn(text, scanned.at)}).`
}

export function formatBody(body: unknown): string {
  return body === null || body === undefined ? '' : JSON.stringify(body, null, 2)
}

/** The browser has rounded a number of the stored body: saving it would change what receivers get. */
export function hasRoundedNumber(value: unknown): boolean {
  if (typeof value === 'number') return Number.isInteger(value) && !Number.isSafeInteger(value)
  return typeof value === 'object' && value !== null && Object.values(value).some(hasRoundedNumber)
}
