import { createFinder, type Finder } from './find-any.ts'
import { createMasker } from './mask-stream.ts'
import { formsOf } from './secret-forms.ts'

export type Mask = ReturnType<typeof createMask>

/**
 * Masks secrets wherever they occur, in every encoding; everything else stays unchanged. Prepared once for a list of
 * secrets, then used many times.
 */
export function createMask(secrets: readonly string[]) {
  const forms = formsOf(secrets)
  const finder = createFinder(forms)
  let byteFinder: Finder | undefined
  const ofBytes = () =>
    createFinder(forms.map((form) => ({ ...form, text: Buffer.from(form.text).toString('latin1') })))

  function maskValue(value: unknown): unknown {
    if (Array.isArray(value)) return value.map(maskValue)
    return typeof value === 'string' ? maskWith(finder, value) : value
  }

  return {
    text: (text: string) => maskWith(finder, text),
    /** Bodies need not be text, so each byte is read as one character. */
    bytes(bytes: Buffer): Buffer {
      if (forms.length === 0) return bytes
      const text = bytes.toString('latin1')
      byteFinder ??= ofBytes()
      const masked = maskWith(byteFinder, text)
      return masked === text ? bytes : Buffer.from(masked, 'latin1')
    },
    headers<Headers extends Record<string, unknown>>(headers: Headers): Headers {
      // There is rarely anything to mask, and one look at all of them is fast.
      if (!contains(finder, Object.values(headers).join('\n'))) return headers
      const masked = Object.entries(headers).map(([name, value]) => [name, maskValue(value)])
      return Object.fromEntries(masked)
    },
  }
}

function maskWith(finder: Finder, text: string): string {
  if (!contains(finder, text)) return text
  const masker = createMasker(finder)
  return masker.push(text) + masker.flush()
}

function contains(finder: Finder, text: string): boolean {
  const cursor = { state: 0, column: 0, hasSpace: false }
  let isFound = false
  const find = () => {
    isFound = true
    return true
  }
  for (let at = 0; at < text.length && !isFound; ) at = finder.scan(text, at, cursor, find) + 1
  return isFound
}
