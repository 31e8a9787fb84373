// The executors room: runs one bash command on a server, locally or over SSH, and leaves nothing behind.
// This file is the contract. `connect.ts` opens executors; `local.ts` and `ssh-executor.ts` implement them.

import type { CommandEnd, CommandRequest, Unreachable } from './command.ts'
import type { OpenDetached } from './detached.ts'

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
  /** For steps that survive the connection, where commands can be detached from it: see detached.ts. */
  openDetached?: OpenDetached
  /** Cancels running commands, waits for them to end, and disconnects from the target. Detached steps continue. */
  close(): Promise<void>
}

export type { CommandEnd, CommandRequest, Impossible, Unreachable } from './command.ts'
export { impossible, unreachable } from './command.ts'

/** The result of connecting to a target. */
export type Connection = { kind: 'connected'; executor: Executor } | { kind: 'cancelled' } | Unreachable
