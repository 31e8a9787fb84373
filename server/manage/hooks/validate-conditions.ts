import type { HookCondition } from '#model/hooks/schemas.ts'
import { SECRET_HEADERS } from '#model/hooks/signature-headers.ts'
import { compileGlob } from '#model/payload/glob.ts'
import { parsePathRule } from '#model/payload/path-rules.ts'
import { type PayloadPath, parsePath } from '#model/payload/payload-path.ts'
import type { FieldErrors } from '#platform/http/problems.ts'

// The rules for conditions that a schema cannot express. Pure.

const MAX_CONDITIONS = 100
/** Of all globs together: a call is checked without a pause. */
const MAX_GLOBS_LENGTH = 2_048
const OPERATORS = ['equals', 'one_of', 'matches', 'exists', 'accepted_values'] as const
const SUBJECTS = ['path', 'header', 'any_of'] as const

type CheckKeys = (keys: PayloadPath) => string | undefined

type Rules = {
  /** What a path may address; absent: anything. */
  checkKeys?: CheckKeys
  /** The header with the signature of calls, in lower case; undefined: conditions on headers are not possible. */
  signatureHeader?: string
}

export function checkConditions(conditions: readonly HookCondition[], errors: FieldErrors, rules: Rules) {
  const count = conditions.reduce((sum, { any_of }) => sum + (any_of?.length ?? 1), 0)
  if (count > MAX_CONDITIONS)
    errors.add(
      'trigger_when.conditions',
      `must not have more than ${MAX_CONDITIONS} conditions, those in groups included`,
    )
  const globsLength = singlesOf(conditions).reduce((sum, { matches = '' }) => sum + matches.length, 0)
  if (globsLength > MAX_GLOBS_LENGTH)
    errors.add(
      'trigger_when.conditions',
      `must not have more than ${MAX_GLOBS_LENGTH} characters in all matches together`,
    )
  conditions.forEach((condition, index) => {
    const field = `trigger_when.conditions.${index}`
    if (condition.any_of) checkGroup(condition, field, errors, rules)
    else checkCondition(condition, field, errors, rules)
  })
}

function checkGroup(
  { any_of = [], ...rest }: HookCondition,
  field: string,
  errors: FieldErrors,
  rules: Rules,
): void {
  for (const name of [...SUBJECTS, ...OPERATORS, 'not'] as const)
    if (Object.hasOwn(rest, name)) errors.add(`${field}.${name}`, 'cannot be combined with any_of')
  any_of.forEach((condition, index) => {
    checkCondition(condition, `${field}.any_of.${index}`, errors, rules)
  })
}

function checkCondition(condition: HookCondition, field: string, errors: FieldErrors, rules: Rules): void {
  const { path, header, matches } = condition
  if (path === undefined && header === undefined)
    errors.add(`${field}.path`, 'is required, unless header is given')
  if (path !== undefined && header !== undefined)
    errors.add(`${field}.header`, 'cannot be combined with path')
  if (path !== undefined) checkPath(path, `${field}.path`, errors, rules.checkKeys)
  const problem = header === undefined ? undefined : headerProblem(header, rules)
  if (problem) errors.add(`${field}.header`, problem)
  const [operator, ...others] = OPERATORS.filter((name) => Object.hasOwn(condition, name))
  if (!operator)
    errors.add(`${field}.equals`, `is required, or another operator: ${OPERATORS.slice(1).join(', ')}`)
  for (const other of others) errors.add(`${field}.${other}`, `cannot be combined with ${operator}`)
  if (matches === undefined) return
  const compiled = matches.startsWith('!') ? NEGATED_GLOB : compileGlob(matches)
  if (compiled.kind === 'invalid') errors.add(`${field}.matches`, compiled.message)
}

const NEGATED_GLOB = {
  kind: 'invalid',
  message: 'must not begin with !: set not to true instead, or write \\! for the character',
} as const

function headerProblem(header: string, { signatureHeader }: Rules): string | undefined {
  if (signatureHeader === undefined) return 'is for incoming hooks only'
  return isSecretHeader(header, signatureHeader) ? `must not be ${header}, which carries a secret` : undefined
}

export function isSecretHeader(header: string, signatureHeader: string): boolean {
  const name = header.toLowerCase()
  return name === signatureHeader.toLowerCase() || SECRET_HEADERS.has(name)
}

/** `operation` of the pipeline; null: not checked. */
export function checkPathRules(paths: readonly string[], operation: string | null, errors: FieldErrors) {
  if (paths.length > 0 && operation !== null && operation !== 'deploy')
    errors.add('trigger_when.paths', 'is for pipelines that deploy')
  paths.forEach((path, index) => {
    const parsed = parsePathRule(path)
    if (parsed.kind === 'invalid') errors.add(`trigger_when.paths.${index}`, parsed.message)
  })
}

/** The headers that conditions read, in lower case. */
export function headersOf(conditions: readonly HookCondition[]): string[] {
  return singlesOf(conditions).flatMap(({ header }) => header?.toLowerCase() ?? [])
}

/** With those in groups. */
function singlesOf(conditions: readonly HookCondition[]): Omit<HookCondition, 'any_of'>[] {
  return conditions.flatMap(({ any_of, ...single }) => any_of ?? [single])
}

export function checkPath(path: string, field: string, errors: FieldErrors, checkKeys?: CheckKeys): void {
  const parsed = parsePath(path)
  const error = parsed.kind === 'invalid' ? parsed.message : checkKeys?.(parsed.keys)
  if (error) errors.add(field, error)
}
