import type { ErrorsByField } from '#platform/http/validation.ts'
import { keyOf } from './resources.ts'
import type { StoredResource } from './stored-state.ts'

/**
 * The pipelines and hooks that share a name with another one next to them, which a document cannot tell apart, by their
 * path. All other resources have unique names. Pure.
 */
export function findAmbiguousNames(resources: readonly StoredResource[]): ErrorsByField {
  const errors = new Map<string, string[]>()
  for (const [, namesakes] of Map.groupBy(resources, scopeOf)) {
    const [{ path, type }, second] = namesakes as [StoredResource, StoredResource?]
    if (!second) continue
    const noun = type === 'hook' ? `${path.at(-2)} hook` : type
    const ids = namesakes.map(({ id }) => String(id)).sort()
    const field = path.join('.')
    const message = `${namesakes.length} ${noun}s have this name: ${ids.join(', ')}`
    errors.set(field, [...(errors.get(field) ?? []), message])
  }
  return Object.fromEntries(errors)
}

/** What must be unique. Pipelines of one name have hooks with the same path, which are not ambiguous by themselves. */
function scopeOf({ type, id, path, hook }: StoredResource): string {
  if (type === 'hook') return `${hook!.pipeline_id} ${keyOf(path)}`
  return type === 'pipeline' ? keyOf(path) : `${type} ${id}`
}
