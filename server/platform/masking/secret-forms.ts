import { inBase64, inHex, inJson, inShells, inUrls } from './encodings.ts'
import { COLORS, sanitizeText } from './sanitize.ts'
import type { Word } from './trie.ts'

/** Shorter secrets are not masked: half of the log would be masked, which would reveal them. */
const MIN_SECRET_LENGTH = 4
/** Shorter ones (new hidden values are longer) are masked in their own case only: `prod`, but not `PROD`. */
const MIN_ANY_CASE_LENGTH = 6
/** Shorter lines of a multi-line secret, such as a private key, are too likely to be something else. */
const MIN_LINE_LENGTH = 8

/**
 * Pure: the texts in which secrets appear in logs. Each secret as it is, in upper and lower case, its lines, and its
 * encodings in URLs and forms, in JSON, in shells, in hex, and in base64, alone or as part of a longer value
 * (`user:secret`). Surrounding white space is ignored; a secret of white space alone is not masked.
 */
export function formsOf(secrets: readonly string[]): Word[] {
  const forms = new Map<string, Word>()
  for (const secret of secrets) {
    const whole = secret.toWellFormed()
    const trimmed = whole.trim()
    const value = trimmed.length < MIN_SECRET_LENGTH ? whole : trimmed
    if (trimmed === '' || value.length < MIN_SECRET_LENGTH) continue
    const isExact = value.length < MIN_ANY_CASE_LENGTH
    for (const form of textForms(value, isExact)) add({ text: form, isExact })
    for (const form of [...inHex(value), ...inBase64(value)]) add({ text: form, isExact, mayWrap: true })
  }
  return [...forms.values()]

  function add(form: Word): void {
    // The input of masking is sanitized, so secrets are searched in their sanitized form, too.
    for (const text of [form.text, plain(form.text)]) {
      if (text.length < MIN_SECRET_LENGTH) continue
      const key = form.isExact ? `exact ${text}` : `${lowerCase(text)}`
      const known = forms.get(key)
      forms.set(key, { ...form, text, mayWrap: known?.mayWrap || form.mayWrap })
    }
  }
}

function textForms(value: string, isExact: boolean): string[] {
  const cases = isExact ? [value] : [value, value.toUpperCase(), value.toLowerCase()]
  // Letters of ASCII match in either case, so most secrets have one.
  const distinct = [...new Map(cases.map((text) => [lowerCase(text), text])).values()]
  return distinct.flatMap((text) => [
    text,
    ...linesOf(text),
    ...inUrls(text),
    ...inJson(text),
    ...inShells(text),
  ])
}

/** Of ASCII only, like matching. */
function lowerCase(text: string): string {
  return text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase())
}

const plain = (text: string) => sanitizeText(text).replaceAll(COLORS, '')

function linesOf(value: string): string[] {
  const lines = value.split(/[\r\n]+/).map((line) => line.trim())
  return lines.length === 1 ? [] : lines.filter((line) => line.length >= MIN_LINE_LENGTH)
}
