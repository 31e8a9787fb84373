import type { PayloadPath } from './payload-path.ts'

/** The value at a path, or undefined. Own properties only; on an array a key of digits is an index. */
export function readPath(value: unknown, path: PayloadPath): unknown {
  let current = value
  for (const key of path) {
    if (Array.isArray(current)) {
      if (!/^(0|[1-9]\d{0,9})$/.test(key)) return undefined
      current = current[Number(key)]
    } else if (typeof current === 'object' && current !== null && Object.hasOwn(current, key)) {
      current = (current as Record<string, unknown>)[key]
    } else {
      return undefined
    }
  }
  return current
}
