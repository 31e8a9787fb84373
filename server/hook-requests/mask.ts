const MASK = '********'

/** Hides secrets wherever they stand in a body, however it writes them; everything else stays to the byte. */
export function maskBytes(bytes: Buffer, secrets: readonly string[]): Buffer {
  // One character per byte: bodies need not be text.
  const forms = formsOf(secrets).map((form) => Buffer.from(form).toString('latin1'))
  return Buffer.from(hide(bytes.toString('latin1'), forms), 'latin1')
}

export function maskHeaders(
  headers: Record<string, unknown> | null,
  secrets: readonly string[],
): Record<string, unknown> | null {
  const forms = formsOf(secrets)
  const mask = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(mask)
    return typeof value === 'string' ? hide(value, forms) : value
  }
  return headers && Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, mask(value)]))
}

function hide(text: string, forms: readonly string[]): string {
  return forms.reduce((rest, form) => rest.replaceAll(form, MASK), text)
}

/** A secret as it is, and as JSON, a form or an address would write it. The longest first: one can hold another. */
function formsOf(secrets: readonly string[]): string[] {
  const forms = secrets.flatMap((secret) => {
    const json = JSON.stringify(secret).slice(1, -1)
    const form = new URLSearchParams([['', secret]]).toString().slice(1)
    return [secret, json, json.replaceAll('/', '\\/'), form, encodeURIComponent(secret)]
  })
  return [...new Set(forms)].sort((one, other) => other.length - one.length)
}
