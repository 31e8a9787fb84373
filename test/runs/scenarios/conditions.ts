import { setTimeout as delay } from 'node:timers/promises'
import type { Status } from '#platform/database/tables.ts'

/** A command that runs, or part of it: `build`, `build of 1`, `build on web-2`, `build of 1 on web-2`. */
export type Spot = { command: string; action: number | undefined; server: string | undefined }
/** One that runs, or ran. */
export type CommandRun = { command: string; action: number; server: string }

/**
 * What a command or the story waits for. `build of 1 runs`: has started, optionally `2 times`. `build of 1 prints`:
 * something of its log is stored. `1 is waiting`, `1 is waiting on web-2`: the action, or its target, has reached
 * that status. Conditions stay true, so none is missed.
 */
export type Condition =
  | { kind: 'runs'; spot: Spot; times: number }
  | { kind: 'prints'; spot: Spot }
  | { kind: 'is'; action: number; status: Status; server: string | undefined }

const SPOT = '(?<command>[a-z][a-z0-9-]*)(?: of (?<action>\\d+))?(?: on (?<server>[a-z][a-z0-9-]*))?'
const RUNS = new RegExp(`^${SPOT} runs(?: (?<times>\\d+) times)?$`)
const PRINTS = new RegExp(`^${SPOT} prints$`)
const IS =
  /^(?<action>\d+) is (?<status>pending|waiting|queued|in-progress|completed|failed|skipped)(?: on (?<server>\S+))?$/

export function readSpot(text: string): Spot {
  const found = new RegExp(`^${SPOT}$`).exec(text)?.groups
  if (!found) throw new Error(`Not a command: ${text}`)
  return spotOf(found)
}

export function readCondition(text: string): Condition {
  const runs = RUNS.exec(text)?.groups
  if (runs) return { kind: 'runs', spot: spotOf(runs), times: Number(runs.times ?? 1) }
  const prints = PRINTS.exec(text)?.groups
  if (prints) return { kind: 'prints', spot: spotOf(prints) }
  const is = IS.exec(text)?.groups
  if (is) return { kind: 'is', status: is.status as Status, action: Number(is.action), server: is.server }
  throw new Error(`Not a condition: ${text}`)
}

function spotOf({ command, action, server }: Record<string, string | undefined>): Spot {
  return { command: command!, action: action === undefined ? undefined : Number(action), server }
}

export function fits(spot: Spot, { command, action, server }: CommandRun): boolean {
  return spot.command === command && (spot.action ?? action) === action && (spot.server ?? server) === server
}

export const show = ({ command, action, server }: CommandRun) => `${command} of ${action} on ${server}`

const TIMEOUT_MS = 90_000

/** Throws on timeout, and when the signal aborts. */
export async function waitFor(
  what: string,
  holds: () => boolean | Promise<boolean>,
  signal?: AbortSignal,
): Promise<void> {
  const deadline = performance.now() + TIMEOUT_MS
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`Timed out after ${TIMEOUT_MS} ms: ${what}`)
    await delay(5, undefined, { signal })
  }
}
