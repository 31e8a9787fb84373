import { COLORS, sanitizeText } from './sanitize.ts'

/** Shorter secrets are not masked: half of the log would be masked, which would reveal them. */
const MIN_SECRET_LENGTH = 4
/** Shorter lines of a multi-line secret, such as a private key, are too likely to be something else. */
const MIN_LINE_LENGTH = 8
/** The line lengths of `openssl base64` and `base64`. */
const COLUMNS = [64, 76]

/**
 * Pure: the texts in which secrets appear in logs. Each secret as it is, its lines, and its encodings in URLs and
 * forms, in JSON, in the output of `set -x`, and in base64, alone or as part of a longer value (`user:secret`).
 * Surrounding white space is ignored; a secret of white space alone is not masked.
 */
export function formsOf(secrets: readonly string[]): string[] {
  const forms = new Set<string>()
  for (const secret of secrets) {
    const whole = secret.toWellFormed()
    const trimmed = whole.trim()
    const value = trimmed.length < MIN_SECRET_LENGTH ? whole : trimmed
    if (trimmed === '' || value.length < MIN_SECRET_LENGTH) continue
    const all = [value, value.replaceAll("'", `'\\''`), ...linesOf(value), ...inUrls(value), ...inJson(value)]
    for (const form of [...all, ...inBase64(value)]) {
      // The input of masking is sanitized, so secrets are searched in their sanitized form, too.
      for (const text of [form, plain(form)]) if (text.length >= MIN_SECRET_LENGTH) forms.add(text)
    }
  }
  return [...forms]
}

const plain = (text: string) => sanitizeText(text).replaceAll(COLORS, '')

function linesOf(value: string): string[] {
  const lines = value.split(/[\r\n]+/).map((line) => line.trim())
  return lines.length === 1 ? [] : lines.filter((line) => line.length >= MIN_LINE_LENGTH)
}

/** Programs differ in which characters they escape, how they encode a space, and the case of digits. */
function inUrls(value: string): string[] {
  const component = encodeURIComponent(value)
  const strict = component.replaceAll(/[!'()*]/g, (character) => `%${hex(character)}`.toUpperCase())
  const form = new URLSearchParams({ '': value }).toString().slice(1)
  const forms = [component, strict, strict.replaceAll('%20', '+'), form]
  return [...forms, ...forms.map((text) => text.replaceAll(/%../g, (digits) => digits.toLowerCase()))]
}

/** As serialized by JavaScript, with escaped slashes (PHP), in pure ASCII (Python), and both. */
function inJson(value: string): string[] {
  const text = JSON.stringify(value).slice(1, -1)
  const ascii = text.replaceAll(/[^\0-\x7e]/g, (unit) => `\\u${hex(unit).padStart(4, '0')}`)
  return [text, ascii].flatMap((form) => [form, form.replaceAll('/', '\\/')])
}

/**
 * Three bytes become four characters, so the text before the secret decides between three encodings. The characters
 * that it shares with the text before and after it, with at most four of its bits each, are not masked.
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
  return text.length <= columns ? [] : text.match(new RegExp(`.{${MIN_LINE_LENGTH},${columns}}`, 'g'))!
}

function hex(unit: string): string {
  return unit.charCodeAt(0).toString(16)
}
