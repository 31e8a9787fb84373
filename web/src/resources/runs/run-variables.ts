// Variables as people type or paste them: one `name=value` per line. Pure.

const NAME = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/
const MAX_VARIABLES = 100
const MAX_REPORTED = 3

type Problem = { line: number; message: string }

/** Empty lines and lines that start with # count for nothing; any other line is a variable or a problem. */
export function readVariables(text: string): { variables: Record<string, string>; problems: Problem[] } {
  const entries: [string, string][] = []
  const problems: Problem[] = []
  const lineOf = new Map<string, number>()
  for (const [index, raw] of text.split(/\r?\n/).entries()) {
    const line = index + 1
    const trimmed = raw.trim()
    if (trimmed === '' || trimmed.startsWith('#')) continue
    const at = trimmed.indexOf('=')
    const name = trimmed.slice(0, Math.max(at, 0)).trim()
    const earlier = lineOf.get(name.toLowerCase())
    if (at === -1) problems.push({ line, message: 'is not name=value' })
    else if (!NAME.test(name)) problems.push({ line, message: nameProblem(name) })
    else if (earlier !== undefined)
      problems.push({ line, message: `repeats ${name}, which line ${earlier} has (case does not matter)` })
    else {
      lineOf.set(name.toLowerCase(), line)
      entries.push([name, trimmed.slice(at + 1).trim()])
    }
  }
  const count = lineOf.size
  if (count > MAX_VARIABLES)
    problems.push({ line: 0, message: `A run takes at most ${MAX_VARIABLES} variables, these are ${count}` })
  return { variables: Object.fromEntries(entries), problems }
}

function nameProblem(name: string): string {
  if (name === '') return 'has no name before the ='
  return 'has an invalid name: letters, digits, _ and -, not starting with a digit or -, at most 64 characters'
}

/** What the input shows: `Line 2 is not name=value.` */
export function variablesError(text: string): string | undefined {
  const { problems } = readVariables(text)
  if (problems.length === 0) return undefined
  const more = problems.length - MAX_REPORTED
  return [
    ...problems
      .slice(0, MAX_REPORTED)
      .map(({ line, message }) => `${line === 0 ? '' : `Line ${line} `}${message}.`),
    ...(more > 0 ? [`${more} more like that.`] : []),
  ].join(' ')
}
