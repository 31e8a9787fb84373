// What a person changed, compared with what was loaded. Pure.

/** The fields of `values` that differ from those of `base`. */
export function changedFields<Values extends object>(base: Values, values: Values): Partial<Values> {
  const changed = Object.entries(values).filter(([name, value]) => !isSame(value, base[name as keyof Values]))
  return Object.fromEntries(changed) as Partial<Values>
}

export function isSame(one: unknown, other: unknown): boolean {
  return Object.is(one, other) || JSON.stringify(one) === JSON.stringify(other)
}

type Difference = { field: string; mine: unknown; theirs: unknown }

/** The fields that the person or somebody else changed, and that are not the same in the end. */
export function differences<Values extends object>(mine: Values, theirs: Values): Difference[] {
  return Object.keys(mine).flatMap((field) => {
    const name = field as keyof Values
    return isSame(mine[name], theirs[name]) ? [] : [{ field, mine: mine[name], theirs: theirs[name] }]
  })
}

/** `trigger_when.scope` → the input `trigger_when`, unless there is one for the whole path. */
export function inputFor(field: string, names: readonly string[]): string | undefined {
  for (let path = field; path !== ''; path = path.slice(0, Math.max(0, path.lastIndexOf('.'))))
    if (names.includes(path)) return path
  return undefined
}

/** `login_name` → `Login name`. */
export function labelOf(field: string): string {
  const words = field
    .replaceAll(/[._]/g, ' ')
    .replaceAll(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase()
  return words.charAt(0).toUpperCase() + words.slice(1)
}
