// The executors room: running one bash command on a target, here or over SSH, and leaving nothing behind.
// Whoever runs steps knows this file alone; `local.ts` and `ssh-connect.ts` open the two kinds of executor.

import type { Readable } from 'node:stream'

/**
 * Runs commands on one target. `run` may be called many times at once; an SSH executor starts at most
 * `COMMANDS_AT_ONCE` of them together and lets the others wait. After `close` every call ends as cancelled.
 */
export type Executor = {
  /**
   * Runs one command to its end. When the promise resolves, all output has been handed over and nothing that the
   * command started is alive, detached processes included. Over SSH that takes a line to the target: when it is
   * lost, the target clears up by itself.
   *
   * Every way a command can end is a `CommandEnd`. The promise rejects only when `input` breaks or `onOutput`
   * throws; the command has been stopped by then too.
   */
  run(request: CommandRequest): Promise<CommandEnd>
  /** Cancels what runs, waits for it to end, and lets go of the target. */
  close(): Promise<void>
}

export type CommandRequest = {
  /** Bash text. It is never part of a command line. */
  command: string
  /**
   * The only way for values to reach the command; never seen in a list of processes. Added to what the account
   * has anyway (PATH, HOME and the like), and stronger than that. Names are those that bash allows; GANTRY_COMMAND
   * is taken.
   */
  environment: Record<string, string>
  /** Absolute. One that cannot be entered ends the command with exit code 1 and a line that says so. */
  workingFolder: string | null
  /** Null: the account the target was set up with. */
  runAsUser: string | null
  /**
   * Becomes the command's standard input, at the pace at which it is read; without it the command sees the end
   * of its input at once. Destroyed when the command has ended, whether or not all of it was read.
   */
  input?: Readable
  /** Output and errors together, in the order in which they were written. No more is read until it resolves. */
  onOutput(chunk: Buffer): Promise<void> | void
  /** Cancels: SIGTERM to everything that the command started, SIGKILL to what is left after `graceMs`. */
  signal: AbortSignal
  /** Counted from the start of the command; then it is stopped in the same way. */
  timeoutMs: number
  /** A function is asked when it comes to that. */
  graceMs: number | (() => number)
}

export type CommandEnd =
  | { kind: 'exited'; code: number }
  /** A signal that nobody here sent ended the main process, e.g. `SIGKILL` when memory ran out. */
  | { kind: 'signalled'; signal: string }
  | { kind: 'timed-out' }
  | { kind: 'cancelled' }
  /** The line to the target is down. Nobody knows how far the command came. */
  | Unreachable
  /** The command was not begun and will not be at another try, e.g. because the account does not exist. */
  | Impossible

export type Unreachable = { kind: 'unreachable'; message: string }
export type Impossible = { kind: 'impossible'; message: string }

/** How many commands one SSH connection carries at a time. */
export const COMMANDS_AT_ONCE = 6
