// How programs write a value into other texts. All pure, and all without the quotes around the value.

/** Programs differ in which characters they escape, and how they encode a space. */
export function inUrls(value: string): string[] {
  const component = encodeURIComponent(value)
  const strict = component.replaceAll(/[!'()*]/g, percent)
  const form = new URLSearchParams({ '': value }).toString().slice(1)
  return [
    component,
    strict,
    strict.replaceAll('%20', '+'),
    form,
    form.replaceAll('+', '%20'),
    // Python's quote, and whole addresses.
    strict.replaceAll('%2F', '/'),
    strict.replaceAll('%2F', '/').replaceAll('%20', '+'),
    encodeURI(value),
  ]
}

const percent = (character: string) => `%${hexOf(character)}`.toUpperCase()

/** As serialized by JavaScript, with escaped slashes (PHP), in pure ASCII (Python), safe in HTML (Go), and mixtures. */
export function inJson(value: string): string[] {
  const text = JSON.stringify(value).slice(1, -1)
  const ascii = text.replaceAll(/[^\0-\x7e]/g, unicode)
  return [text, ascii]
    .flatMap((form) => [
      form,
      form.replaceAll(/[<>&\u2028\u2029]/g, unicode),
      form.replaceAll(/[<>&']/g, unicode),
    ])
    .flatMap((form) => [form, form.replaceAll('/', '\\/')])
}

const unicode = (unit: string) => `\\u${hexOf(unit).padStart(4, '0')}`

function hexOf(unit: string): string {
  return unit.charCodeAt(0).toString(16)
}

/** In single quotes (`set -x`, Python's shlex), in double quotes (`declare -p`), and as `printf %q` writes it. */
export function inShells(value: string): string[] {
  return [
    value.replaceAll("'", `'\\''`),
    value.replaceAll("'", `'"'"'`),
    value.replaceAll(/["$`\\]/g, '\\$&'),
    value.replaceAll(/[ \t!"$&'()*,;<>?[\\\]^`{|}]|^[#~]|(?<=[:=])~/g, '\\$&'),
    inDollarQuotes(value),
    // Without a UTF-8 locale, bash escapes every byte that is not ASCII.
    inDollarQuotes(Buffer.from(value).toString('latin1')),
  ]
}

const ESCAPES: Record<string, string> = {
  '\x07': '\\a',
  '\b': '\\b',
  '\x1b': '\\E',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
  '\\': '\\\\',
  "'": "\\'",
}

/** `$'…'`. Characters of one byte that cannot be printed are octal. */
function inDollarQuotes(value: string): string {
  return value.replaceAll(
    /[\0-\x1f'\\\x7f-\xff]/g,
    (one) => ESCAPES[one] ?? `\\${one.charCodeAt(0).toString(8).padStart(3, '0')}`,
  )
}

export function inHex(value: string): string[] {
  return [Buffer.from(value).toString('hex')]
}

/**
 * Three bytes become four characters, so the text before the secret decides between three encodings. The characters
 * that it shares with the text before and after it, with at most four of its bits each, are not masked.
 */
export function inBase64(value: string): string[] {
  const bytes = Buffer.from(value)
  const texts = [0, 1, 2].flatMap((before) => {
    const text = Buffer.concat([Buffer.alloc(before), bytes])
      .toString('base64')
      .replace(/=+$/, '')
    const atEnd = text.slice(Math.ceil((before * 8) / 6))
    return [atEnd, text.slice(text.length - atEnd.length, Math.floor(((before + bytes.length) * 8) / 6))]
  })
  return [...texts, ...texts.map((text) => text.replaceAll('+', '-').replaceAll('/', '_'))]
}
