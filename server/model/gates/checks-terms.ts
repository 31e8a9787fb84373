// Which checks of its commit a run waits for: the setting of a pipeline. Pure.
import { compileGlob, type Glob, matchesGlob } from '#model/payload/glob.ts'
import type { ChecksTerms } from '#platform/database/tables.ts'

/** As the API takes it. */
export type ChecksInput = Partial<ChecksTerms>

const DEFAULTS: ChecksTerms = {
  names: null,
  ignore: [],
  timeout_minutes: 60,
  settle_seconds: 30,
  without_checks: 'fail',
}

export function wholeChecks(input: ChecksInput | null): ChecksTerms | null {
  return input && { ...DEFAULTS, ...input }
}

/** The setting as it is applied to checks. */
export type CompiledTerms = ChecksTerms & {
  considers: (name: string) => boolean
  /** Names without a wildcard: these checks have to be there. */
  required: readonly string[]
  /** Every check that it is about is named: no other one can come. */
  isExact: boolean
}

export function compileTerms(terms: ChecksTerms): CompiledTerms {
  const ignored = terms.ignore.flatMap(globOf)
  const named = terms.names?.flatMap(globOf)
  const exact = (terms.names ?? []).flatMap((name) => exactName(name) ?? [])
  const matches = (globs: readonly Glob[], name: string) => globs.some((glob) => matchesGlob(glob, name))
  return {
    ...terms,
    considers: (name) => !matches(ignored, name) && (!named || matches(named, name)),
    required: exact,
    isExact: terms.names !== null && exact.length === terms.names.length,
  }
}

/** Patterns are valid once they are stored. */
function globOf(pattern: string): Glob[] {
  const compiled = compileGlob(pattern)
  return compiled.kind === 'glob' ? [compiled.glob] : []
}

/** The name that a pattern without a wildcard means; null for others. */
function exactName(pattern: string): string | null {
  return /^(?:[^\\*?{}]|\\.)+$/su.test(pattern) ? pattern.replace(/\\(.)/gsu, '$1') : null
}

/** What is wrong with the patterns, by field; empty when nothing is. */
export function findPatternErrors({ names, ignore }: ChecksInput): Record<string, string> {
  const errors: Record<string, string> = {}
  for (const [field, patterns] of Object.entries({ names: names ?? [], ignore: ignore ?? [] }))
    for (const [index, pattern] of patterns.entries()) {
      const compiled = compileGlob(pattern)
      if (compiled.kind === 'invalid') errors[`${field}.${index}`] = compiled.message
    }
  return errors
}

/**
 * Whether a run could pass `next` that would not have passed `before`. A timeout only decides how long a run waits. Unless it
 * is certain that nothing is looser, it is.
 */
export function isLooser(before: ChecksTerms | null, next: ChecksTerms | null): boolean {
  if (before === null) return false
  if (next === null) return true
  const isWithin = (one: readonly string[], other: readonly string[]) =>
    one.every((pattern) => other.includes(pattern))
  return (
    areNamesLooser(before.names, next.names) ||
    !isWithin(next.ignore, before.ignore) ||
    next.settle_seconds < before.settle_seconds ||
    (before.without_checks === 'fail' && next.without_checks === 'proceed')
  )

  function areNamesLooser(old: string[] | null, given: string[] | null): boolean {
    if (given !== null) return old === null || !isWithin(old, given)
    // All checks are considered, but none has to be there.
    return (old ?? []).some((name) => exactName(name) !== null)
  }
}
