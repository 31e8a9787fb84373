// What a command is, and how it can end. See executor.ts.

import type { Readable } from 'node:stream'

export type CommandRequest = {
  /** A bash script. It is never part of a command line. */
  command: string
  /**
   * The only way for values to reach the command; never visible in a process list. Added to the account's own
   * environment (PATH, HOME and so on), which it overrides. Names must be valid in bash; GANTRY_COMMAND is
   * reserved.
   */
  environment: Record<string, string>
  /** Absolute. One that cannot be entered ends the command with exit code 1 and an error message. */
  workingFolder: string | null
  /** Null: the account that the target is configured with. */
  runAsUser: string | null
  /**
   * Becomes the command's standard input, with backpressure; without it the command sees the end of its input
   * immediately. Destroyed when the command has ended, whether or not all of it was read.
   */
  input?: Readable
  /** Standard output and error together, in the order written. Reading pauses until it resolves. */
  onOutput(chunk: Buffer): Promise<void> | void
  /** Cancels: SIGTERM to everything that the command started, SIGKILL to what is left after `graceMs`. */
  signal: AbortSignal
  /** Counted from the start of the command; then it is stopped in the same way. */
  timeoutMs: number
  /** A function is called when the grace period begins. */
  graceMs: number | (() => number)
}

export type CommandEnd =
  | { kind: 'exited'; code: number }
  /** A signal that we did not send ended the main process, e.g. `SIGKILL` when memory ran out. */
  | { kind: 'signalled'; signal: string }
  | { kind: 'timed-out' }
  | { kind: 'cancelled' }
  /** The connection to the target is down. How far the command got is unknown. */
  | Unreachable
  /** The command did not start and will not on a retry, e.g. because the account does not exist. */
  | Impossible

export type Unreachable = { kind: 'unreachable'; message: string }
export type Impossible = { kind: 'impossible'; message: string }

export const impossible = (message: string): Impossible => ({ kind: 'impossible', message })
export const unreachable = (message: string): Unreachable => ({ kind: 'unreachable', message })
