import type { ErrorsByField } from '#platform/http/validation.ts'

const MOST_NAMED = 5

/** Pure: what still depends on something, for people: `{ projects: ['2 projects: Shop, Blog'] }`; undefined for nothing. */
export function describeDependents(
  dependents: Record<string, readonly { name: string }[]>,
): ErrorsByField | undefined {
  const described = Object.entries(dependents)
    .filter(([, things]) => things.length > 0)
    .map(([kind, things]) => [kind, [describe(kind, things)]])
  return described.length === 0 ? undefined : Object.fromEntries(described)
}

function describe(kind: string, things: readonly { name: string }[]): string {
  const names = things.slice(0, MOST_NAMED).map(({ name }) => name)
  const more = things.length > MOST_NAMED ? ', …' : ''
  return `${things.length} ${things.length === 1 ? kind.replace(/s$/, '') : kind}: ${names.join(', ')}${more}`
}
