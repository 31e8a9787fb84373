import { compileGlob, type Glob, MAX_TEXT_LENGTH, matchesGlob } from './glob.ts'
import { type PayloadPath, parsePath, readPath } from './payload-path.ts'

/** A condition on one value: of the payload (`path`) or of a header. It has one operator. */
export type SingleCondition = {
  path?: string
  header?: string
  equals?: unknown
  one_of?: readonly unknown[]
  accepted_values?: readonly unknown[]
  matches?: string
  exists?: boolean
  not?: boolean
}

/** As stored: validated when the hook was saved. */
export type Condition = SingleCondition & { any_of?: readonly SingleCondition[] }

/** What conditions are evaluated on. Names of headers are in lower case. */
export type ConditionSubject = {
  payload: unknown
  headers?: Readonly<Record<string, string | readonly string[] | undefined>>
}

/** `reason`: why it is not met, as a sentence without any value of the call; null when it is. */
export type ConditionResult = {
  label: string
  isMet: boolean
  reason: string | null
  group: ConditionResult[]
}

export type CompiledCondition = {
  /** What it is about: a path, or the names of a group. */
  label: string
  /** The values of the payload that it reads. */
  reads: readonly PayloadPath[]
  evaluate: (subject: ConditionSubject) => ConditionResult
}

/** The keys of a stored path, which was validated when its hook was saved. */
export function keysOf(path: string): PayloadPath {
  const parsed = parsePath(path)
  if (parsed.kind === 'invalid') throw new Error(`A stored path ${parsed.message}`)
  return parsed.keys
}

export function compileCondition({ any_of, ...single }: Condition): CompiledCondition {
  return any_of ? compileGroup(any_of.map(compileSingle)) : compileSingle(single)
}

function compileGroup(members: readonly CompiledCondition[]): CompiledCondition {
  const label = [...new Set(members.map((member) => member.label))].join(' or ')
  return {
    label,
    reads: members.flatMap(({ reads }) => reads),
    evaluate(subject) {
      const group = members.map((member) => member.evaluate(subject))
      const isMet = group.some((member) => member.isMet)
      return { label, isMet, reason: isMet ? null : 'No condition of the group is met.', group }
    },
  }
}

function compileSingle(condition: SingleCondition): CompiledCondition {
  const { path, header, not: isNegated = false } = condition
  const keys = path === undefined ? null : keysOf(path)
  const label = path ?? `header ${header}`
  const name = header?.toLowerCase() ?? ''
  const { holds, unmet, excluded } = compileOperator(condition)
  const absent = keys ? 'The payload has no such value.' : 'The call has no such header.'
  return {
    label,
    reads: keys ? [keys] : [],
    evaluate({ payload, headers = {} }) {
      const found = keys ? readPath(payload, keys) : headerText(headers, name)
      const isMet = holds(found) !== isNegated
      const why = isNegated ? excluded : found === undefined ? absent : unmet
      return { label, isMet, reason: isMet ? null : why, group: [] }
    },
  }
}

function headerText(headers: NonNullable<ConditionSubject['headers']>, name: string): string | undefined {
  const value = Object.hasOwn(headers, name) ? headers[name] : undefined
  return typeof value === 'string' ? value : value?.join(', ')
}

/** `unmet` and `excluded`: why a present value does not match, or with `not` does. A missing value never holds. */
type Operator = { holds: (found: unknown) => boolean; unmet: string; excluded: string }

function compileOperator(condition: SingleCondition): Operator {
  const { exists, matches } = condition
  if (exists !== undefined) {
    const [present, absent] = ['The call has such a value.', 'The call has no such value.']
    return {
      holds: (found) => (found !== undefined && found !== null) === exists,
      unmet: exists ? absent : present,
      excluded: exists ? present : absent,
    }
  }
  if (matches !== undefined) {
    const glob = compileStored(matches)
    return {
      holds: (found) => typeof found === 'string' && matchesGlob(glob, found),
      unmet: `The value is not text of at most ${MAX_TEXT_LENGTH} characters that matches the pattern.`,
      excluded: 'The value matches the excluded pattern.',
    }
  }
  const accepted = Object.hasOwn(condition, 'equals')
    ? [condition.equals]
    : (condition.one_of ?? condition.accepted_values ?? [])
  return {
    holds: (found) => found !== undefined && accepted.some((one) => sameJson(one, found)),
    unmet: 'The value is not an accepted one.',
    excluded: 'The value is an excluded one.',
  }
}

function compileStored(text: string): Glob {
  const compiled = compileGlob(text)
  if (compiled.kind === 'invalid') throw new Error(`A stored glob ${compiled.message}`)
  return compiled.glob
}

/** The first condition that is not met, or undefined. */
export function unmetCondition(
  conditions: readonly CompiledCondition[],
  subject: ConditionSubject,
): ConditionResult | undefined {
  for (const condition of conditions) {
    const result = condition.evaluate(subject)
    if (!result.isMet) return result
  }
  return undefined
}

/** `the condition on ref is not met` */
export function describeUnmet({ label, group }: Pick<ConditionResult, 'label' | 'group'>): string {
  return group.length > 0 ? `no condition on ${label} is met` : `the condition on ${label} is not met`
}

/** Equal as JSON: only the order of keys does not matter. */
export function sameJson(one: unknown, other: unknown): boolean {
  if (one === other) return true
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false
  if (Array.isArray(one) !== Array.isArray(other)) return false
  const keys = Object.keys(one)
  if (keys.length !== Object.keys(other).length) return false
  return keys.every((key) => Object.hasOwn(other, key) && sameJson(one[key as never], other[key as never]))
}
