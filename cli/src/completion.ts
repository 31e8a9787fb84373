// What may come next on the command line, and the shell functions that ask for it.
import type { Command } from 'commander'
import type { Catalog } from './catalog.ts'
import type { Kind } from './names.ts'

/** Names of these kinds complete an argument that is declared with this name. */
const KINDS: Record<string, Kind[]> = {
  pipeline: ['pipeline'],
  action: ['pipeline'],
  application: ['application'],
  server: ['server'],
  hook: ['incoming_hook', 'outgoing_hook'],
  'incoming hook': ['incoming_hook'],
  'outgoing hook': ['outgoing_hook'],
  credential: ['credential'],
  organization: ['organization'],
}

/** Fixed words, names that the instance knows, or releases that this pipeline can go back to. */
type Completions = {
  words: string[]
  kinds: Kind[]
  releasesOf?: string
  /** Senders or receivers. */
  catalog?: Catalog
  /** The flags of one of them. */
  flagsOf?: { catalog: Catalog; code: string }
}

/** The options of `hook create` that take a sender or a receiver. */
const CATALOGS: Record<string, Catalog> = { '--from': 'senders', '--to': 'receivers' }

/** `words`: what stands after `gantry`; the last one is being typed and may be empty. */
export function complete(program: Command, words: readonly string[]): Completions {
  const typed = words.at(-1) ?? ''
  let command = program
  let at = 0
  let first = ''
  for (let index = 0; index < words.length - 1; index += 1) {
    const word = words[index]!
    if (word.startsWith('-')) {
      if (optionOf(command, word)?.required) index += 1
      continue
    }
    const child = visible(command).find((other) => [other.name(), ...other.aliases()].includes(word))
    if (child) command = child
    else {
      at += 1
      first ||= word
    }
  }
  const previous = words.at(-2)
  const option = previous?.startsWith('-') ? optionOf(command, previous) : undefined
  if (option?.required && command.name() === 'rollback' && option.name() === 'to')
    return { ...NOTHING, releasesOf: first }
  const isHookCreate = command.name() === 'create' && command.parent?.name() === 'hooks'
  if (isHookCreate) {
    if (CATALOGS[previous ?? '']) return { ...NOTHING, catalog: CATALOGS[previous!] }
    // The value of a field.
    if (previous?.startsWith('--') && !option) return NOTHING
  }
  if (option?.required) return { words: [...(option.argChoices ?? [])], kinds: KINDS[option.name()] ?? [] }
  if (typed.startsWith('-')) {
    const flagsOf = isHookCreate ? chosenEntry(words) : undefined
    return {
      words: optionsOf(command).flatMap(({ long }) => long ?? []),
      kinds: [],
      ...(flagsOf && { flagsOf }),
    }
  }
  const argument = command.registeredArguments[Math.min(at, command.registeredArguments.length - 1)]
  return {
    words: [
      ...(argument?.argChoices ?? []),
      ...(at === 0 ? visible(command).map((child) => child.name()) : []),
    ],
    kinds: argument ? (KINDS[argument.name()] ?? []) : [],
  }
}

const NOTHING: Completions = { words: [], kinds: [] }

function chosenEntry(words: readonly string[]): Completions['flagsOf'] {
  const at = words.findIndex((word) => word in CATALOGS)
  const code = words[at + 1]
  return at === -1 || code === undefined ? undefined : { catalog: CATALOGS[words[at]!]!, code }
}

const visible = (command: Command) => command.createHelp().visibleCommands(command)

const optionsOf = (command: Command): Command['options'] =>
  command.parent ? [...command.options, ...optionsOf(command.parent)] : [...command.options]

const optionOf = (command: Command, flag: string) =>
  optionsOf(command).find(({ long, short }) => long === flag || short === flag)

export const SHELLS = ['bash', 'zsh', 'fish'] as const

/** To be evaluated by the shell: `source <(gantry completion bash)`. */
export const SCRIPTS: Record<(typeof SHELLS)[number], string> = {
  bash: `_gantry() {
  local IFS=$'\\n'
  COMPREPLY=($(gantry __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
  [[ \${COMPREPLY[0]} == */ ]] && compopt -o nospace
}
complete -F _gantry gantry
`,
  zsh: `#compdef gantry
_gantry() {
  local -a found
  found=("\${(@f)$(gantry __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  compadd -- $found
}
compdef _gantry gantry
`,
  fish: `complete -c gantry -f -a '(gantry __complete -- (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)'
`,
}
