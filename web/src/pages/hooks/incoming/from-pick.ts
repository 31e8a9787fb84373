// A value of a received call → a variable or a condition of the hook. Pure.
import { type ConditionRow, emptyRow, type SingleRow, valueTag } from '#web/resources/hooks/condition-rows.ts'
import { childOf, ExactNumber, type JsonPick, keysOf } from '#web/shared/editor/json-nodes.ts'
import type { VariableRow } from './hook-values.ts'

/** Why a value cannot be a variable; undefined if it can. */
export function whyNoVariable({ type }: JsonPick): string | undefined {
  return type === 'object' ? 'An object cannot be a variable. Choose a value inside of it.' : undefined
}

export function withVariable(rows: readonly VariableRow[], pick: JsonPick): VariableRow[] {
  const known = rows.find(({ path, name }) => (path || name) === pick.path)
  if (known) return [...rows]
  const variable: VariableRow = {
    name: freeName(suggestedName(pick), rows),
    path: pick.path,
    type: variableType(pick),
    required: pick.type !== 'null',
    default: '',
  }
  return [...rows, variable]
}

/** The variable is read from the picked value from now on. */
export function withPathFor(rows: readonly VariableRow[], name: string, pick: JsonPick): VariableRow[] {
  return rows.map((row) =>
    row.name === name ? { ...row, path: pick.path === name ? '' : pick.path, type: variableType(pick) } : row,
  )
}

/** Required variables that the payload has nothing for. */
export function missingVariables(rows: readonly VariableRow[], payload: unknown): VariableRow[] {
  return rows.filter(
    ({ name, path, required, default: fallback }) =>
      required && fallback === '' && valueAt(payload, path || name) === undefined,
  )
}

/** As far as a path consists of plain keys. */
function valueAt(payload: unknown, path: string): unknown {
  const keys = path.split(/[.[\]"]+/).filter((key) => key !== '')
  return keys.reduce<unknown>(
    (value, key) => (keysOf(value ?? null).includes(key) ? childOf(value, key) : undefined),
    payload,
  )
}

/** Another value at a path that has a condition is accepted as well. */
export function withCondition(rows: readonly ConditionRow[], pick: JsonPick): ConditionRow[] {
  const tag = pick.value instanceof ExactNumber ? pick.value.text : valueTag(pick.value)
  return withValue(rows, { ...emptyRow(), name: pick.path, values: [tag] })
}

export function withHeaderCondition(
  rows: readonly ConditionRow[],
  name: string,
  value: string,
): ConditionRow[] {
  return withValue(rows, { ...emptyRow('header'), name, values: [valueTag(value)] })
}

function withValue(rows: readonly ConditionRow[], added: SingleRow): ConditionRow[] {
  const keyOf = ({ subject, name }: SingleRow) => (subject === 'header' ? name.toLowerCase() : name)
  const index = rows.findIndex(
    (row) =>
      !row.any_of && row.subject === added.subject && row.operator === 'is' && keyOf(row) === keyOf(added),
  )
  const known = rows[index] as SingleRow | undefined
  if (!known) return [...rows, added]
  return rows.with(index, { ...known, values: [...new Set([...known.values, ...added.values])] })
}

function variableType({ type, value }: JsonPick): VariableRow['type'] {
  if (type === 'number') return Number.isSafeInteger(value) ? 'integer' : 'string'
  return type === 'boolean' || type === 'array' ? type : 'string'
}

/** `branch`, `tag` and `commit` choose what a deploy takes. */
function suggestedName({ path, value }: JsonPick): string {
  if (typeof value === 'string') {
    if (value.startsWith('refs/heads/')) return 'branch'
    if (value.startsWith('refs/tags/')) return 'tag'
    if (/^[0-9a-f]{40}$/.test(value)) return 'commit'
  }
  const words = path.split(/[^\p{L}\p{N}_-]+/u).filter((word) => word !== '' && !/^\d+$/.test(word))
  const name = (words.at(-1) ?? 'value').replaceAll(/[^A-Za-z0-9_-]/g, '').slice(0, 48)
  return /^[A-Za-z_]/.test(name) ? name : `value_${name}`.replace(/_$/, '')
}

/** Names are unique, ignoring case. */
function freeName(name: string, rows: readonly VariableRow[]): string {
  const taken = new Set(rows.map((row) => row.name.toLowerCase()))
  if (!taken.has(name.toLowerCase())) return name
  for (let number = 2; ; number++)
    if (!taken.has(`${name}_${number}`.toLowerCase())) return `${name}_${number}`
}
