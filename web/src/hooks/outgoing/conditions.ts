// Conditions as people edit them: a path, and the accepted values in one line. Pure.

export type Condition = { path: string; accepted_values: unknown[] }
export type ConditionInput = { path: string; values: string }

const ITEM = /\s*("(?:[^"\\]|\\.)*"|[^,]*)\s*(,|$)/gy

/** `completed, 3, "3", true`: JSON where it is JSON, text otherwise. A text that is JSON is quoted. */
export function parseValues(text: string): unknown[] {
  if (text.trim() === '') return []
  if (text.trim().startsWith('[')) {
    const list = readJson(text)
    if (Array.isArray(list)) return list
  }
  const items: string[] = []
  for (const [, item, end] of text.matchAll(ITEM)) {
    items.push(item!.trim())
    if (end === '') break
  }
  return items.filter((item) => item !== '').map((item) => readJson(item) ?? nullOrText(item))
}

export function formatValues(values: readonly unknown[]): string {
  const texts = values.map((value) =>
    typeof value === 'string' && isPlain(value) ? value : JSON.stringify(value),
  )
  // Objects and lists contain commas.
  return values.some((value) => typeof value === 'object' && value !== null)
    ? JSON.stringify(values)
    : texts.join(', ')
}

function isPlain(text: string): boolean {
  return (
    text !== '' &&
    text === text.trim() &&
    !/[",[\]{}]/.test(text) &&
    readJson(text) === undefined &&
    text !== 'null'
  )
}

const nullOrText = (item: string) => (item === 'null' ? null : item)

function readJson(text: string): unknown {
  try {
    return JSON.parse(text) ?? undefined
  } catch {
    return undefined
  }
}

export const toInputs = (conditions: readonly Condition[]): ConditionInput[] =>
  conditions.map(({ path, accepted_values }) => ({ path, values: formatValues(accepted_values) }))

/** Rows that were left empty do not count. */
export const toConditions = (inputs: readonly ConditionInput[]): Condition[] =>
  inputs
    .filter(({ path, values }) => path.trim() !== '' || values.trim() !== '')
    .map(({ path, values }) => ({ path: path.trim(), accepted_values: parseValues(values) }))
