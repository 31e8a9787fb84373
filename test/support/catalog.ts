// What a client does with an entry of the catalog.

type Field = { name: string; default_value: string | null; example: string | null; required: boolean }

/** Fills in the fields, and leaves out properties that use a field without a value. */
export function expand<Template>(template: Template, values: Record<string, string>): Template {
  return fill(template) as Template

  function fill(part: unknown): unknown {
    if (typeof part === 'string') return fillText(part)
    if (Array.isArray(part)) return part.map(fill)
    if (typeof part !== 'object' || part === null) return part
    const entries = Object.entries(part).map(([key, value]) => [key, fill(value)] as const)
    return Object.fromEntries(entries.filter(([, value]) => value !== undefined))
  }

  function fillText(text: string): string | undefined {
    const names = [...text.matchAll(/<([a-z_]+)>/g)].map(([, name]) => name!)
    if (names.some((name) => values[name] === undefined)) return undefined
    return text.replaceAll(/<([a-z_]+)>/g, (_, name) => values[name]!)
  }
}

/** Every field with its default value or its example; or those only that are required. */
export function exampleValues(fields: readonly Field[], { onlyRequired = false } = {}) {
  const wanted = fields.filter(({ required }) => required || !onlyRequired)
  return Object.fromEntries(
    wanted.map(({ name, default_value, example }) => [name, (default_value ?? example)!]),
  )
}
