/**
 * JSON for answers that are mostly made of parts that were shown before: a part that will never change is
 * declared stable, written once, and then copied.
 */
const stable = new WeakMap<object, string | undefined>()

/** Promises that the object and everything in it stays as it is. */
export function markStable<Value extends object>(value: Value): Value {
  if (!stable.has(value)) stable.set(value, undefined)
  return value
}

/** The same text as JSON.stringify gives, for values that came from JSON or could go there. */
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
