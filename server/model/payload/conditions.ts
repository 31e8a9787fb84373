import type { PayloadPath } from './payload-path.ts'
import { readPath } from './read-path.ts'

export type CompiledCondition = { path: string; keys: PayloadPath; acceptedValues: readonly unknown[] }

/** The first condition that does not hold, or undefined. What is absent never holds. */
export function unmetCondition(
  conditions: readonly CompiledCondition[],
  payload: unknown,
): CompiledCondition | undefined {
  return conditions.find(({ keys, acceptedValues }) => {
    const found = readPath(payload, keys)
    return found === undefined || !acceptedValues.some((accepted) => sameJson(accepted, found))
  })
}

/** Equal as JSON: the order of keys does not count, everything else does. */
export function sameJson(one: unknown, other: unknown): boolean {
  if (one === other) return true
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false
  if (Array.isArray(one) !== Array.isArray(other)) return false
  const keys = Object.keys(one)
  if (keys.length !== Object.keys(other).length) return false
  return keys.every((key) => Object.hasOwn(other, key) && sameJson(one[key as never], other[key as never]))
}
