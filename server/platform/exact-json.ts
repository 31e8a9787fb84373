// JSON whose large integers keep their digits: receivers use them as ids, and a JavaScript number would round them.

/** An integer beyond 2^53 as it was written; `JSON.stringify` writes it the same way. */
export type LargeInteger = { readonly rawJSON: string }

const json = JSON as typeof JSON & {
  rawJSON(text: string): LargeInteger
  isRawJSON(value: unknown): boolean
}

/** `digits` is an integer in decimal notation. */
export function largeInteger(digits: string): LargeInteger {
  return json.rawJSON(digits)
}

export function isLargeInteger(value: unknown): value is LargeInteger {
  return json.isRawJSON(value)
}

/** Like `JSON.parse`, except that integers beyond 2^53 become `LargeInteger`. */
export function parseExactly(text: string): unknown {
  // Reading every value takes several times as long, and few texts have so many digits in a row.
  return /\d{16}/.test(text) ? JSON.parse(text, keepDigits) : JSON.parse(text)
}

function keepDigits(_key: string, value: unknown, context?: { source?: string }): unknown {
  if (typeof value !== 'number' || Number.isSafeInteger(value)) return value
  const { source = '' } = context ?? {}
  return /^-?\d+$/.test(source) ? largeInteger(source) : value
}
