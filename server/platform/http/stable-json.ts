/**
 * JSON for responses that mostly repeat parts of earlier ones: a part that never changes is marked stable, serialized
 * once, and its text reused.
 */
const stable = new WeakMap<object, string | undefined>()

/** The caller guarantees that the object and everything in it never changes. */
export function markStable<Value extends object>(value: Value): Value {
  if (!stable.has(value)) stable.set(value, undefined)
  return value
}

/** The same text as JSON.stringify, for values that JSON can represent. */
export function stringifyStable(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (stable.has(value)) return stableText(value)
  if (Array.isArray(value)) return `[${value.map(stringifyStable).join(',')}]`
  let text = ''
  for (const key of Object.keys(value)) {
    const part = (value as Record<string, unknown>)[key]
    if (part === undefined) continue
    text += `${text === '' ? '' : ','}${JSON.stringify(key)}:${stringifyStable(part)}`
  }
  return `{${text}}`
}

function stableText(value: object): string {
  const known = stable.get(value)
  if (known !== undefined) return known
  const text = JSON.stringify(value)
  stable.set(value, text)
  return text
}
