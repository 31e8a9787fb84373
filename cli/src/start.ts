// From the arguments to an exit code. An error is one or two sentences, never a stack trace.
import { CommanderError } from 'commander'
import { endWithReader } from './closed-output.ts'
import { exitCodeOfCommand, interrupt } from './command.ts'
import { EXIT } from './exit-codes.ts'
import { Interrupted, toFailure } from './failure.ts'
import { createProgram } from './program.ts'
import { paint, plain, usesColor, wrap } from './screen.ts'
import { versionNote } from './server-version.ts'

const GRACE_MS = 1_000

/** A command that watches its signal says how to go on; any other may wait for a response or for stdin. */
function stop(): void {
  interrupt()
  setTimeout(() => process.exit(EXIT.interrupted), GRACE_MS).unref()
}

/** Returns the exit code. */
export async function start(argv: string[]): Promise<number> {
  endWithReader()
  process.once('SIGINT', stop)
  process.once('SIGTERM', stop)
  const exitCode = await main(argv)
  const note = versionNote()
  if (note && process.stderr.isTTY) process.stderr.write(`${note}\n`)
  return exitCode
}

async function main(argv: string[]): Promise<number> {
  try {
    const program = createProgram()
    overrideExit(program)
    await program.parseAsync(argv)
    return exitCodeOfCommand()
  } catch (error) {
    return report(error)
  }
}

/**
 * Commander ends the process itself by default, and words its errors in its own way; subcommands do not inherit what
 * is set after they exist.
 */
function overrideExit(command: ReturnType<typeof createProgram>): void {
  command.exitOverride().configureOutput({
    outputError: (text) => writeError(`${text.replace(/^error: /, `${heading()} `)}${hintFor(command)}`),
  })
  for (const child of command.commands) overrideExit(child)
}

function hintFor(command: ReturnType<typeof createProgram>): string {
  const names = []
  for (let each: typeof command | null = command; each; each = each.parent) names.unshift(each.name())
  return `\`${names.join(' ')} --help\` shows what it takes.`
}

const heading = () =>
  usesColor(process.env, process.stderr.isTTY) && !process.argv.includes('--no-color')
    ? paint('red', 'gantry:')
    : 'gantry:'

function writeError(text: string): void {
  const { stderr } = process
  stderr.write(`${stderr.isTTY ? wrap(text, stderr.columns) : text}\n`)
}

function report(error: unknown): number {
  if (error instanceof Interrupted || (error instanceof Error && error.name === 'AbortError'))
    return EXIT.interrupted
  // Commander has printed what is wrong, or the help that was asked for.
  if (error instanceof CommanderError) {
    if (error.code === 'commander.missingArgument' && error.message.includes("'action'"))
      writeError('Shells take # for the beginning of a comment: write 42, not #42.')
    return error.exitCode === 0 ? EXIT.completed : EXIT.usage
  }
  const { message, hint, exit } = toFailure(error)
  writeError(`${heading()} ${plain(message)}`)
  if (hint) writeError(plain(hint))
  if (process.env.GANTRY_DEBUG && error instanceof Error) process.stderr.write(`${error.stack}\n`)
  return exit
}
