import { type PayloadPath, parsePath, readPath } from './payload-path.ts'

export type CompiledCondition = { path: string; keys: PayloadPath; acceptedValues: readonly unknown[] }

/** The keys of a stored path, which was validated when its hook was saved. */
export function keysOf(path: string): PayloadPath {
  const parsed = parsePath(path)
  if (parsed.kind === 'invalid') throw new Error(`A stored path ${parsed.message}`)
  return parsed.keys
}

export function compileCondition(condition: {
  path: string
  accepted_values: readonly unknown[]
}): CompiledCondition {
  const { path, accepted_values } = condition
  return { path, keys: keysOf(path), acceptedValues: accepted_values }
}

/** The first condition that does not match, or undefined. A missing value never matches. */
export function unmetCondition(
  conditions: readonly CompiledCondition[],
  payload: unknown,
): CompiledCondition | undefined {
  return conditions.find(({ keys, acceptedValues }) => {
    const found = readPath(payload, keys)
    return found === undefined || !acceptedValues.some((accepted) => sameJson(accepted, found))
  })
}

/** Equal as JSON: only the order of keys does not matter. */
export function sameJson(one: unknown, other: unknown): boolean {
  if (one === other) return true
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false
  if (Array.isArray(one) !== Array.isArray(other)) return false
  const keys = Object.keys(one)
  if (keys.length !== Object.keys(other).length) return false
  return keys.every((key) => Object.hasOwn(other, key) && sameJson(one[key as never], other[key as never]))
}
