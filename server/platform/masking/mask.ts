import { MASK } from './masked.ts'
import { formsOf } from './secret-forms.ts'

/** Masks secrets wherever they occur, in every encoding; everything else stays unchanged. */
export type Mask = {
  text(text: string): string
  /** Bodies need not be text, so each byte is read as one character. */
  bytes(bytes: Buffer): Buffer
  headers<Headers extends Record<string, unknown>>(headers: Headers): Headers
}

/** Prepared once for a list of secrets, then used many times. */
export function createMask(secrets: readonly string[]): Mask {
  // Longest first: one can contain another.
  const forms = formsOf(secrets).sort((one, other) => other.length - one.length)
  const byteForms = forms.map((form) => Buffer.from(form).toString('latin1'))

  function maskValue(value: unknown): unknown {
    if (Array.isArray(value)) return value.map(maskValue)
    return typeof value === 'string' ? replaceSecrets(value, forms) : value
  }

  return {
    text: (text) => replaceSecrets(text, forms),
    bytes(bytes) {
      if (forms.length === 0) return bytes
      const text = bytes.toString('latin1')
      if (!byteForms.some((form) => text.includes(form))) return bytes
      return Buffer.from(replaceSecrets(text, byteForms), 'latin1')
    },
    headers(headers) {
      // There is rarely anything to mask, and one check of all headers is fast.
      const all = Object.values(headers).join('\n')
      if (!forms.some((form) => all.includes(form))) return headers
      const masked = Object.entries(headers).map(([name, value]) => [name, maskValue(value)])
      return Object.fromEntries(masked)
    },
  }
}

function replaceSecrets(text: string, forms: readonly string[]): string {
  return forms.reduce((rest, form) => rest.replaceAll(form, () => MASK), text)
}
