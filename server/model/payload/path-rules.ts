import { compileGlob, type Glob, matchesGlob } from './glob.ts'

/** Which changed files start a run: the `trigger_when.paths` of an incoming hook. */
export type PathRules = readonly { isExcluded: boolean; glob: Glob }[]

type Parsed = { kind: 'rule'; rule: PathRules[number] } | { kind: 'invalid'; message: string }

/** A glob; with a leading `!` the files that it excludes. */
export function parsePathRule(text: string): Parsed {
  const isExcluded = text.startsWith('!')
  const pattern = isExcluded ? text.slice(1) : text
  if (/^\.?\//.test(pattern))
    return {
      kind: 'invalid',
      message: 'must be relative to the root of the repository, without a leading / or ./',
    }
  if (pattern.endsWith('/'))
    return { kind: 'invalid', message: `matches no file: write ${pattern}** for all files of the folder` }
  const compiled = compileGlob(pattern)
  return compiled.kind === 'invalid' ? compiled : { kind: 'rule', rule: { isExcluded, glob: compiled.glob } }
}

/** Of stored globs, which were validated when their hook was saved. */
export function compilePathRules(globs: readonly string[]): PathRules {
  return globs.map((text) => {
    const parsed = parsePathRule(text)
    if (parsed.kind === 'invalid') throw new Error(`A stored glob ${parsed.message}`)
    return parsed.rule
  })
}

/** The last rule that matches a file decides about it; without one it counts only if the first rule excludes. */
export function countsFile(rules: PathRules, file: string): boolean {
  const deciding = rules.findLast(({ glob }) => matchesGlob(glob, file))
  return deciding ? !deciding.isExcluded : (rules[0]?.isExcluded ?? true)
}
