// Steps that run detached from the connection. This file is the contract; `supervisor.ts` implements it over SSH.
//
// On the server, a supervisor (supervisor.sh) runs under the account of the steps, one per account and connection. It ends
// with the connection. For every step it leaves a watcher behind (watcher.sh), which survives both: it keeps the output and
// the exit code in a folder on the server, and ends the step at its timeout, or when Gantry stays away for too long. A worker that
// connects later continues from there.
//
// Order of calls, for one step:
//
//   1. `executor.openDetached({ runAsUser, owner })`; `unavailable` means: run the step attached, and log the reason.
//   2. Store `newStepToken()` and `steps.statePath(token)`, in a transaction that holds the target.
//   3. `steps.start({ token, … }, follow)`. At most once per token, whatever happens.
//   4. After `connection-lost`, `left`, a lost worker or a restart: connect, `openDetached` for the same account, and
//      `steps.attach({ token, statePath, offset }, follow)` until it ends in another way. If the start never arrived, `attach`
//      makes the token void and returns `void`: store a new token, and start under that.
//   5. Commit the result, then `steps.remove(statePath)`. If that does not happen, `steps.sweep` finds the folder later.

import { randomBytes } from 'node:crypto'
import type { CommandRequest, Impossible, Unreachable } from './command.ts'

/** Absent from an executor whose commands are never detached (local servers). */
export type OpenDetached = (
  account: DetachedAccount,
) => Promise<DetachedSteps | Unavailable | Impossible | Unreachable>

export type DetachedAccount = {
  /** As in a CommandRequest. A step must be attached to under the account that it was started with. */
  runAsUser: string | null
  /** `<installation>-<server id>`: the beginning of the name of every folder, so that no sweep touches those of others. */
  owner: string
  /** The shortest of the steps that will be followed: short ones are renewed more often. */
  leaseSeconds?: number
}

/**
 * This server or account does not allow it: steps run attached, as before. `reason` is a sentence for the log of the step and
 * the server check, e.g. that logind ends what a session leaves behind, or that the state folder cannot be written.
 */
export type Unavailable = { kind: 'unavailable'; reason: string }

/** Every call may be made concurrently; the steps of one account share a channel. */
export type DetachedSteps = {
  kind: 'detached'
  /** Where the step with this token keeps its state. Absolute; stored before the start. */
  statePath(token: string): string
  /** Runs a step and follows it to its end. Never rejects, unless `onOutput` throws: then the step continues, unfollowed. */
  start(step: DetachedStart, follow: Follow): Promise<DetachedEnd | Claimed | Unreadable>
  /**
   * Follows a step that was started earlier, from byte `offset` of its output on. Returns the result of one that has ended. Two
   * workers may do so at the same time. A step whose watcher was killed is ended completely first, as is one of an earlier boot.
   */
  attach(step: DetachedAttach, follow: Follow): Promise<DetachedEnd | Void | Unreadable>
  /** A step will be started soon: the server may begin with what the start of any step takes. */
  expectStart(): void
  /**
   * Removes the state of steps whose result is committed, or that will never have one; ends what they still run. The caller
   * ensures that no result is lost. False: not all could be removed, and a sweep should try again.
   */
  remove(...statePaths: string[]): Promise<boolean>
  /**
   * Asks about all tokens that have a folder of this owner in the account's state folders, and removes those that
   * `findFinished` returns: their result is committed, or the database does not know the token. It must ask the database, not a
   * memory: a token that another worker has stored a moment ago is unknown to that. Void ones stay for 24 hours.
   * Returns how many were removed.
   */
  sweep(findFinished: (tokens: string[]) => Promise<Iterable<string>>): Promise<number>
}

export type DetachedStart = Pick<CommandRequest, 'command' | 'environment' | 'workingFolder'> & {
  token: string
  /** Counted by the server, from the start on; also while Gantry is away. */
  timeoutMs: number
  /** Between SIGTERM and SIGKILL, after a timeout or a cancellation. At most 5 s when the lease ends. */
  graceMs: number
  /** GANTRY_REATTACH_SECONDS: without Gantry for that long, everything that the step started is ended. */
  leaseSeconds: number
}

export type DetachedAttach = {
  token: string
  /** What was stored with the token. Nowhere else is the step looked for. */
  statePath: string
  /** How many bytes of raw output are stored already: the end of the last `onOutput` that counts. */
  offset: number
}

/** How output, cancellation and handing over reach a step, started or attached. */
export type Follow = {
  /**
   * Output and errors in order, one call at a time. `rawOffset` is the position of the chunk's first byte in all that the step
   * has printed. It equals the end of the previous chunk, unless output was dropped in between: of more than 10 MiB only the
   * first 5 MiB and at least the last 5 MiB are kept on the server. A slow reader delays neither the step nor others.
   */
  onOutput(chunk: Buffer, rawOffset: number): Promise<void> | void
  /** Cancels: SIGTERM to everything that the step started, SIGKILL to what is left after the grace period. */
  cancel: AbortSignal
  /** Stops following, e.g. because this worker stops: the step continues, and the result is `left`. */
  leave: AbortSignal
}

export type DetachedEnd = StepEnd | Left | ConnectionLost | Impossible

/** Final: nothing of the step is alive, and its output was passed on. The same again for everyone who attaches. */
export type StepEnd =
  | { kind: 'exited'; code: number }
  /** By a signal that the watcher did not send. SIGINT, SIGPIPE and SIGTERM may appear as exit codes 130, 141 and 143. */
  | { kind: 'signalled'; signal: string }
  | { kind: 'timed-out' }
  | { kind: 'cancelled' }
  /** FAILED. The message names the disk of the state folder, which is full. */
  | { kind: 'disk-full'; message: string }
  /** FAILED_UNREACHABLE. Gantry stayed away for longer than the lease; the watcher has ended the step. */
  | { kind: 'lease-expired' }
  /**
   * FAILED_WORKER_LOST, unless the step is idempotent. The watcher was killed, or the server has restarted meanwhile. How far
   * the step got is unknown.
   */
  | { kind: 'supervisor-lost'; why: 'killed' | 'restarted' }

/** The step continues without us; attach to it later. Also the result when the executor is closed. */
export type Left = { kind: 'left' }

/**
 * The step continues without us, for the lease: attach to it, over a new connection. `silentMs`: how long ago the server last
 * acknowledged a renewal. The target is given up lease + 30 s after that acknowledgment. (A worker that finds the step after
 * another was lost counts from that moment, which is later.)
 */
export type ConnectionLost = { kind: 'connection-lost'; message: string; silentMs: number }

/** `start` only: the token was used already, or is void. Nothing was started by this call. */
export type Claimed = { kind: 'claimed' }

/** `attach` only: nothing has run under this token, and from now on nothing will. Start under a new one. */
export type Void = { kind: 'void' }

/**
 * The state cannot be read, e.g. because a file system is not mounted, or the step has altered it. Counts as
 * unreachable: attach again later, until the lease + 30 s is over.
 */
export type Unreadable = { kind: 'unreadable'; message: string }

/** How often Gantry tells a supervisor that it is still there; more often when leases are short. */
export const RENEW_MS = 5_000

export const newStepToken = (): string => randomBytes(16).toString('hex')
