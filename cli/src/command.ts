// How a command is written: declared with commander, its work wrapped by `run`, its examples shown in help and docs.
import type { Command } from 'commander'
import { type Cli, openCli } from './cli.ts'
import { EXIT } from './exit-codes.ts'

/** Adds commands to the program. Each file in commands/ exports one or a few of these. */
export type Register = (program: Command) => void

type Example = { command: string; what: string }

const examplesByCommand = new WeakMap<Command, Example[]>()

export const examplesOf = (command: Command): readonly Example[] => examplesByCommand.get(command) ?? []

export function examples(command: Command, ...list: [command: string, what: string][]): Command {
  const given = list.map(([line, what]) => ({ command: line, what }))
  examplesByCommand.set(command, given)
  const text = given.map(({ command: line, what }) => `  $ ${line}\n    ${what}`).join('\n')
  return command.addHelpText('after', `\nExamples:\n${text}`)
}

/** Collects the values of an option that may be repeated. */
export const every = (value: string, values: string[] = []) => [...values, value]

const interruption = new AbortController()

/** What Ctrl-C does: commands see it as their signal. */
export const interrupt = () => interruption.abort()

let current: Cli | undefined
/** The exit code that the command has set. */
export const exitCodeOfCommand = () => current?.exitCode ?? EXIT.completed

/** Makes the work of a command commander's action. It gets the arguments and options as declared. */
export function run<Args extends unknown[]>(
  work: (cli: Cli, ...args: Args) => Promise<void>,
): (this: Command, ...args: [...Args, Command]) => Promise<void> {
  return async function (this: Command, ...args) {
    current = openCli(this, interruption.signal)
    await work(current, ...(args.slice(0, -1) as unknown as Args))
  }
}
