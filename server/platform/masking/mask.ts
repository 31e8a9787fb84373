import { MASK } from './masked.ts'
import { formsOf } from './secret-forms.ts'

/** Hides secrets wherever they stand and however they are written; everything else stays to the byte. */
export type Mask = {
  text(text: string): string
  /** One character per byte: bodies need not be text. */
  bytes(bytes: Buffer): Buffer
  headers<Headers extends Record<string, unknown>>(headers: Headers): Headers
}

/** Worked out once for the same secrets, which then are looked for in many places. */
export function createMask(secrets: readonly string[]): Mask {
  // The longest first: one can hold another.
  const forms = formsOf(secrets).sort((one, other) => other.length - one.length)
  const bytesOfForms = forms.map((form) => Buffer.from(form).toString('latin1'))

  function maskValue(value: unknown): unknown {
    if (Array.isArray(value)) return value.map(maskValue)
    return typeof value === 'string' ? hide(value, forms) : value
  }

  return {
    text: (text) => hide(text, forms),
    bytes(bytes) {
      if (forms.length === 0) return bytes
      const text = bytes.toString('latin1')
      if (!bytesOfForms.some((form) => text.includes(form))) return bytes
      return Buffer.from(hide(text, bytesOfForms), 'latin1')
    },
    headers(headers) {
      // Hardly ever is there anything to hide, and one look at all of them is quick.
      const all = Object.values(headers).join('\n')
      if (!forms.some((form) => all.includes(form))) return headers
      const masked = Object.entries(headers).map(([name, value]) => [name, maskValue(value)])
      return Object.fromEntries(masked)
    },
  }
}

function hide(text: string, forms: readonly string[]): string {
  return forms.reduce((rest, form) => rest.replaceAll(form, () => MASK), text)
}
