// The fields of a sender or receiver as flags. Which ones there are is known only when the catalog was read. Pure.

/** Fields whose name is an option of every command. */
const RENAMED: Record<string, string> = { context: 'status-context' }

/** `environment_url` → `--environment-url`. */
export const flagOf = (field: string) => `--${RENAMED[field] ?? field.replaceAll('_', '-')}`

/** A flag with its value; undefined: it was given without one. */
export type Flag = readonly [flag: string, value: string | undefined]

/** What was given and is no option of the command: words, and flags with a value each. */
export function readFlags(args: readonly string[]): { words: string[]; flags: Flag[] } {
  const words: string[] = []
  const flags: Flag[] = []
  const rest = [...args]
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    const at = word.indexOf('=')
    if (!word.startsWith('-')) words.push(word)
    else if (at !== -1) flags.push([word.slice(0, at), word.slice(at + 1)])
    else flags.push([word, rest[0]?.startsWith('--') ? undefined : rest.shift()])
  }
  return { words, flags }
}

/** For a shell: `'#deploys'`, because it takes an unquoted # for a comment. */
export const quoted = (text: string) =>
  /^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
