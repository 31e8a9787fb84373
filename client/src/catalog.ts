// What a client does with an entry of the catalog of senders and receivers: see GET /catalog/senders. Pure.

/** `<name>` stands for the value of that field. */
const PLACEHOLDER = /<([a-z_]+)>/g

/** The hook of an entry with its fields filled in. What uses a field without a value is left out. */
export function expandEntry<Template>(template: Template, values: Record<string, string>): Template {
  return fill(template) as Template

  function fill(part: unknown): unknown {
    if (typeof part === 'string') return fillText(part)
    if (Array.isArray(part)) return part.map(fill)
    if (typeof part !== 'object' || part === null) return part
    const entries = Object.entries(part).map(([key, value]) => [key, fill(value)] as const)
    return Object.fromEntries(entries.filter(([, value]) => value !== undefined))
  }

  function fillText(text: string): string | undefined {
    const names = [...text.matchAll(PLACEHOLDER)].map(([, name]) => name!)
    if (names.some((name) => values[name] === undefined)) return undefined
    return text.replaceAll(PLACEHOLDER, (_, name: string) => values[name]!)
  }
}

/** What to do at the service, one step per item. What has no value stays as it is. */
export function entrySteps(
  { instructions }: { instructions: string },
  values: Record<string, string | null | undefined>,
): string[] {
  return instructions
    .split('\n')
    .map((step) => step.replaceAll(PLACEHOLDER, (whole, name: string) => values[name] ?? whole))
}
