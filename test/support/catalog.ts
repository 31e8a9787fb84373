// Values for the entries of the catalog.

type Field = { name: string; default_value: string | null; example: string | null; required: boolean }

/** Every field with its default value or its example; or those only that are required. */
export function exampleValues(fields: readonly Field[], { onlyRequired = false } = {}) {
  const wanted = fields.filter(({ required }) => required || !onlyRequired)
  return Object.fromEntries(
    wanted.map(({ name, default_value, example }) => [name, (default_value ?? example)!]),
  )
}
