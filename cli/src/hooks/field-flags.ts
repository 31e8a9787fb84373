// The fields of a sender or receiver as flags. Which ones there are is known only when the catalog was read. Pure.
import { usage } from '../ending.ts'

/** Fields whose name is an option of every command. */
const RENAMED: Record<string, string> = { context: 'status-context' }

/** `environment_url` → `--environment-url`. */
export const flagOf = (field: string) => `--${RENAMED[field] ?? field.replaceAll('_', '-')}`

/** What was given and is no option of the command: words, and flags with a value each. */
export function readFlags(args: readonly string[]): {
  words: string[]
  flags: [flag: string, value: string][]
} {
  const words: string[] = []
  const flags: [string, string][] = []
  const rest = [...args]
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    if (!word.startsWith('-')) {
      words.push(word)
      continue
    }
    const at = word.indexOf('=')
    const flag = at === -1 ? word : word.slice(0, at)
    const value = at === -1 ? rest.shift() : word.slice(at + 1)
    if (value === undefined || value.startsWith('--')) throw usage(`${flag} needs a value.`)
    flags.push([flag, value])
  }
  return { words, flags }
}

/** For a shell: `'#deploys'`, because it takes an unquoted # for a comment. */
export const quoted = (text: string) =>
  /^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
