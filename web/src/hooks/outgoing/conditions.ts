// Conditions as people edit them: a path, and the accepted values as texts. Pure.

type Condition = { path: string; accepted_values: unknown[] }
export type ConditionInput = { path: string; values: string[] }

/** JSON where it is JSON, otherwise text: `42` is a number, `"42"` a text. */
export function parseValue(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

export function formatValue(value: unknown): string {
  return typeof value === 'string' && parseValue(value) === value ? value : JSON.stringify(value)
}

export const toInputs = (conditions: readonly Condition[]): ConditionInput[] =>
  conditions.map(({ path, accepted_values }) => ({ path, values: accepted_values.map(formatValue) }))

/** Rows that were left empty do not count. */
export const toConditions = (inputs: readonly ConditionInput[]): Condition[] =>
  inputs
    .filter(({ path, values }) => path.trim() !== '' || values.length > 0)
    .map(({ path, values }) => ({ path: path.trim(), accepted_values: values.map(parseValue) }))
