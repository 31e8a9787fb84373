import type { Command } from 'commander'
import { type Connection, connect } from './connection.ts'
import { EXIT, type ExitCode } from './exit-codes.ts'
import { createScreen, type Screen } from './screen.ts'

/** What commands work with. */
export type Cli = {
  env: NodeJS.ProcessEnv
  screen: Screen
  /** What the command ends with; a thrown error sets its own. */
  exitCode: ExitCode
  /** Aborts when the command is interrupted. */
  signal: AbortSignal
  /** The name given with --context. */
  context: string | undefined
  /** What was given, without the options that the command declares. */
  args: readonly string[]
  connect(): Promise<Connection>
}

/** The options that every command takes come before or after its name. */
export function openCli(command: Command, signal: AbortSignal): Cli {
  const { context, color } = command.optsWithGlobals<{ context?: string; color: boolean }>()
  const { env } = process
  return {
    env,
    screen: createScreen(env, color),
    exitCode: EXIT.completed,
    signal,
    context,
    args: command.args,
    connect: () => connect(env, context),
  }
}
