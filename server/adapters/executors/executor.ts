// The executors room: runs one bash command on a server, locally or over SSH, and leaves nothing behind.
// This file is the contract. `connect.ts` opens executors; `local.ts` and `ssh-executor.ts` implement them.

import type { Readable } from 'node:stream'

/**
 * Runs commands on one target. `run` may be called concurrently; an SSH executor starts at most
 * six of them and queues the rest. After `close` every call ends as cancelled.
 */
export type Executor = {
  /**
   * Runs one command to its end. When the promise resolves, all output has been passed on and nothing that the
   * command started is alive, including detached processes. Over SSH that requires a connection: when it is lost,
   * the target cleans up on its own.
   *
   * Every way a command can end is a `CommandEnd`. The promise rejects only when `input` fails or `onOutput`
   * throws; the command has been stopped by then too.
   */
  run(request: CommandRequest): Promise<CommandEnd>
  /** Cancels running commands, waits for them to end, and disconnects from the target. */
  close(): Promise<void>
}

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

/** The result of connecting to a target. */
export type Connection = { kind: 'connected'; executor: Executor } | { kind: 'cancelled' } | Unreachable
