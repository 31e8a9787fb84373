// What an entry of the audit log changed, field by field, and what its ids refer to. Pure.

type Values = Record<string, unknown> | null

export type FieldChange = { field: string; before: string | undefined; after: string | undefined }

/** Nested fields by their path. A value that is absent is undefined. */
export function compareValues(
  before: Values,
  after: Values,
  nameOf: (field: string, id: string) => string | undefined = () => undefined,
): { changed: FieldChange[]; unchanged: FieldChange[] } {
  const [old, now] = [flatten(before), flatten(after)]
  const fields = [...new Set([...old.keys(), ...now.keys()])]
  const text = (values: Map<string, unknown>, field: string) => {
    const value = values.get(field)
    if (value === undefined || value === null) return undefined
    const shown = typeof value === 'string' ? value : JSON.stringify(value)
    const name = nameOf(field, shown)
    return name === undefined ? shown : `${name} (#${shown})`
  }
  const changes = fields
    .map((field) => ({ field, before: text(old, field), after: text(now, field) }))
    .filter((change) => change.before !== undefined || change.after !== undefined)
  return {
    changed: changes.filter((change) => change.before !== change.after),
    unchanged: changes.filter((change) => change.before === change.after),
  }
}

/** Objects, and lists of them, become paths; any other list is one value. */
function flatten(values: Values): Map<string, unknown> {
  const leaves = new Map<string, unknown>()
  const visit = (path: string, value: unknown) => {
    const isList = Array.isArray(value) && value.some((one) => typeof one === 'object')
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    if (!isList && !isObject) return void leaves.set(path, value)
    const entries = Object.entries(value as object)
    if (entries.length === 0) leaves.set(path, value)
    for (const [key, part] of entries) visit(path === '' ? key : `${path}.${key}`, part)
  }
  if (values) visit('', values)
  return leaves
}

const REFERENCE = /(?:^|[._])(organization|project|environment|application|server|pipeline|credential)_id$/

/** `settings.credential_id` → `credential`. */
export function referencedType(field: string): string | undefined {
  return REFERENCE.exec(field)?.[1]
}

/** The ids that the values contain, by the type of what they refer to. */
export function referencedIds(...all: Values[]): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>()
  for (const [field, value] of all.flatMap((values) => [...flatten(values)])) {
    const type = referencedType(field)
    if (type === undefined || !Number.isSafeInteger(value)) continue
    found.set(type, (found.get(type) ?? new Set()).add(String(value)))
  }
  return found
}
