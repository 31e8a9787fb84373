import { COLORS, sanitizeText } from './sanitize.ts'

/** Shorter ones are not masked: half of the log would be stars, and the stars would tell the secret. */
const SHORTEST_SECRET = 4
/** Of a secret of many lines, such as a private key, shorter lines are too likely to be something else. */
const SHORTEST_LINE = 8
/** Where `openssl base64` and `base64` begin a new line. */
const COLUMNS = [64, 76]

/**
 * Pure: the texts in which secrets turn up in logs. Each secret as it is, its lines, and how it looks in URLs and
 * forms, in JSON, in what a shell prints with `set -x`, and in base64, by itself or as a part of something longer
 * (`user:secret`). White space around a secret does not count; one of nothing else is not masked.
 */
export function formsOf(secrets: readonly string[]): string[] {
  const forms = new Set<string>()
  for (const secret of secrets) {
    const whole = secret.toWellFormed()
    const trimmed = whole.trim()
    const value = trimmed.length < SHORTEST_SECRET ? whole : trimmed
    if (trimmed === '' || value.length < SHORTEST_SECRET) continue
    const all = [value, value.replaceAll("'", `'\\''`), ...linesOf(value), ...inUrls(value), ...inJson(value)]
    for (const form of [...all, ...inBase64(value)]) {
      // What is masked has been neutralised before, so a secret must be looked for in that form as well.
      for (const text of [form, plain(form)]) if (text.length >= SHORTEST_SECRET) forms.add(text)
    }
  }
  return [...forms]
}

const plain = (text: string) => sanitizeText(text).replaceAll(COLORS, '')

function linesOf(value: string): string[] {
  const lines = value.split(/[\r\n]+/).map((line) => line.trim())
  return lines.length === 1 ? [] : lines.filter((line) => line.length >= SHORTEST_LINE)
}

/** Programs differ in which characters they leave alone, how they write a space, and the case of digits. */
function inUrls(value: string): string[] {
  const component = encodeURIComponent(value)
  const strict = component.replaceAll(/[!'()*]/g, (character) => `%${hex(character)}`.toUpperCase())
  const form = new URLSearchParams({ '': value }).toString().slice(1)
  const forms = [component, strict, strict.replaceAll('%20', '+'), form]
  return [...forms, ...forms.map((text) => text.replaceAll(/%../g, (digits) => digits.toLowerCase()))]
}

/** As JavaScript writes it, with slashes escaped (PHP), in pure ASCII (Python), and both. */
function inJson(value: string): string[] {
  const text = JSON.stringify(value).slice(1, -1)
  const ascii = text.replaceAll(/[^\0-\x7e]/g, (unit) => `\\u${hex(unit).padStart(4, '0')}`)
  return [text, ascii].flatMap((form) => [form, form.replaceAll('/', '\\/')])
}

/**
 * Three bytes are four characters, so what stands before the secret decides between three ways to write it. The
 * characters that it shares with what stands before and after it, of which it is at most four bits each, stay.
 */
function inBase64(value: string): string[] {
  const bytes = Buffer.from(value)
  const texts = [0, 1, 2].flatMap((before) => {
    const text = Buffer.concat([Buffer.alloc(before), bytes])
      .toString('base64')
      .replace(/=+$/, '')
    const atEnd = text.slice(Math.ceil((before * 8) / 6))
    return [atEnd, text.slice(text.length - atEnd.length, Math.floor(((before + bytes.length) * 8) / 6))]
  })
  const standard = [...texts, ...COLUMNS.flatMap((columns) => inLines(texts[0]!, columns))]
  return [...standard, ...standard.map((text) => text.replaceAll('+', '-').replaceAll('/', '_'))]
}

function inLines(text: string, columns: number): string[] {
  return text.length <= columns ? [] : text.match(new RegExp(`.{${SHORTEST_LINE},${columns}}`, 'g'))!
}

function hex(unit: string): string {
  return unit.charCodeAt(0).toString(16)
}
