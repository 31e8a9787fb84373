// Conditions of hooks as people edit them, and back. Pure.
import type { components } from '#client/index.ts'

type Schemas = components['schemas']
type SingleCondition = Schemas['HookSingleCondition']
export type Condition = Schemas['HookCondition']

export const OPERATORS = {
  is: 'is any of',
  is_not: 'is none of',
  matches: 'matches',
  matches_not: 'does not match',
  present: 'is present',
  absent: 'is absent',
} as const
export type Operator = keyof typeof OPERATORS

export type SingleRow = {
  subject: 'path' | 'header'
  /** The path, or the name of the header. */
  name: string
  operator: Operator
  /** Values to compare with, or one glob. */
  values: string[]
  /** The API's word for `is`: a hook keeps the one that it has. */
  word: 'accepted_values' | 'one_of' | 'equals'
}

/** A condition, or a group of which one must match. */
export type ConditionRow = (SingleRow & { any_of?: undefined }) | { any_of: SingleRow[] }

export const emptyRow = (subject: SingleRow['subject'] = 'path'): SingleRow => ({
  subject,
  name: '',
  operator: 'is',
  values: [],
  word: 'accepted_values',
})

export function rowOf({ any_of, ...single }: Condition): ConditionRow {
  return any_of ? { any_of: any_of.map(singleRow) } : singleRow(single)
}

function singleRow(condition: SingleCondition): SingleRow {
  const { path, header, matches, exists, not = false, one_of, accepted_values } = condition
  const subject = header === undefined ? 'path' : 'header'
  const row = { ...emptyRow(subject), name: path ?? header ?? '' }
  if (exists !== undefined) return { ...row, operator: exists === not ? 'absent' : 'present' }
  if (matches !== undefined) return { ...row, operator: not ? 'matches_not' : 'matches', values: [matches] }
  const operator = not ? 'is_not' : 'is'
  if (one_of) return { ...row, operator, values: one_of.map(valueTag), word: 'one_of' }
  if (accepted_values) return { ...row, operator, values: accepted_values.map(valueTag) }
  return { ...row, operator, values: [valueTag(condition.equals)], word: 'equals' }
}

export function conditionOf(row: ConditionRow): Condition {
  return row.any_of ? { any_of: row.any_of.map(singleCondition) } : singleCondition(row)
}

function singleCondition({ subject, name, operator, values, word }: SingleRow): SingleCondition {
  const of = { [subject]: name.trim() }
  if (operator === 'present' || operator === 'absent') return { ...of, exists: operator === 'present' }
  const not = operator.endsWith('_not') && { not: true }
  if (operator === 'matches' || operator === 'matches_not') return { ...of, matches: values[0] ?? '', ...not }
  if (word === 'equals' && values.length === 1) return { ...of, equals: tagValue(values[0]!), ...not }
  return { ...of, [word === 'equals' ? 'one_of' : word]: values.map(tagValue), ...not }
}

/** Another operator: what was entered stays if it can. */
export function withOperator(row: SingleRow, operator: Operator): SingleRow {
  if (operator === 'present' || operator === 'absent') return { ...row, operator, values: [] }
  const isGlob = operator.startsWith('matches')
  return { ...row, operator, values: isGlob ? row.values.slice(0, 1) : row.values }
}

/** Nothing was entered. */
export function isEmptyRow(row: ConditionRow): boolean {
  return row.any_of ? row.any_of.every(isEmptyRow) : row.name.trim() === '' && row.values.length === 0
}

/** A value to compare with: text as it is, anything else as JSON. `"42"` is a text, `42` a number. */
export function tagValue(tag: string): unknown {
  const value = parsed(tag)
  return value === undefined ? tag : value
}

export function valueTag(value: unknown): string {
  return typeof value === 'string' && parsed(value) === undefined ? value : JSON.stringify(value)
}

/** Undefined: not JSON. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** `trigger_when.conditions.0.any_of.1.header` → `conditions.0.any_of.1.name`: the input that shows an API error. */
export function conditionInput(field: string): string | undefined {
  const found = /^trigger_when\.(conditions\.\d+(?:\.any_of\.\d+)?)\.(\w+)/.exec(field)
  if (!found) return undefined
  const isName = found[2] === 'path' || found[2] === 'header'
  return `${found[1]}.${isName ? 'name' : 'values'}`
}
