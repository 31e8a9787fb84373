// The one test double: an executor that does what the scenario says instead of running a command.
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import type { CommandEnd, CommandRequest } from '#adapters/executors/executor.ts'
import type { Reach } from '#engine/runner/reach.ts'
import {
  type Condition,
  fits,
  readCondition,
  readSpot,
  type Spot,
  show,
  type WholeSpot,
  waitFor,
} from './conditions.ts'
import type { Doing, Scenario } from './scenario.ts'
import type { Stage } from './stage.ts'

/** A worker, as the script knows it. One that was lost wakes up at the end, to find that nobody waits for it. */
export type Actor = { isLost: boolean; awake: PromiseWithResolvers<void> }

export type Script = {
  reachAs(actor: Actor): Reach
  holds(condition: Condition): Promise<boolean>
  /** What began on each server, in order. */
  ran: Record<string, string[]>
  /** What must not happen, and did. */
  faults: string[]
  /** How many executors are open. */
  open(): number
}

export function createScript(scenario: Scenario, stage: Stage): Script {
  const begun: WholeSpot[] = []
  const running = new Set<{ spot: WholeSpot; actor: Actor }>()
  const ran = Object.fromEntries(Object.keys(scenario.servers).map((name): [string, string[]] => [name, []]))
  const faults: string[] = []
  const doings = Object.entries(scenario.commands)
    .map(([text, list]) => ({ spot: readSpot(text), list }))
    .sort((one, other) => exactness(other.spot) - exactness(one.spot))
  let open = 0

  async function holds(condition: Condition): Promise<boolean> {
    switch (condition.kind) {
      case 'runs':
        return begun.filter((spot) => fits(condition.spot, spot)).length >= condition.times
      case 'prints':
        return stage.hasPrinted(condition.spot)
      case 'is':
        return stage.hasBeen(condition)
    }
  }

  /** The n-th run of what was named does the n-th thing; the last one is for all that follow. */
  function doingOf(spot: WholeSpot): Doing {
    const named = doings.find((one) => fits(one.spot, spot))
    if (!named) return {}
    const run = begun.filter((one) => fits(named.spot, one)).length
    return named.list[Math.min(run, named.list.length) - 1]!
  }

  async function run(actor: Actor, server: string, request: CommandRequest): Promise<CommandEnd> {
    const action = await stage.numberOf(Number(request.environment.GANTRY_ACTION_ID))
    const spot = { command: request.command, action, server }
    begun.push(spot)
    ran[server]!.push(`${spot.command} of ${action}`)
    const entry = { spot, actor }
    running.add(entry)
    faults.push(...limitFaults(scenario, running, server), ...timeoutFaults(scenario, spot, request))
    try {
      return await act(actor, doingOf(spot), request)
    } finally {
      running.delete(entry)
    }
  }

  async function act(actor: Actor, doing: Doing, request: CommandRequest): Promise<CommandEnd> {
    const { prints = '', until, takesMs, ends = 'exits 0', then_prints = '' } = doing
    const signal = doing.deaf ? new AbortController().signal : request.signal
    await request.onOutput(Buffer.from(prints))
    try {
      if (until) await waitFor(until, () => holds(readCondition(until)), signal)
      if (takesMs) await delay(takesMs, undefined, { signal })
      if (ends === 'hangs') await untilAwake(actor, signal)
    } catch (error) {
      if (!signal.aborted) throw error
    }
    if (signal.aborted) return { kind: 'cancelled' }
    await request.onOutput(Buffer.from(then_prints))
    return endOf(ends)
  }

  return {
    ran,
    faults,
    holds,
    open: () => open,
    reachAs: (actor) => async (server) => {
      const { unreachable } = scenario.servers[server.name]!
      if (unreachable !== undefined) return { kind: 'unreachable', message: unreachable }
      open += 1
      return {
        run: (request) => run(actor, server.name, request),
        close: async () => {
          open -= 1
        },
      }
    },
  }
}

/** What is still at work for a lost worker goes on when it wakes up, as if nothing had been. */
async function untilAwake(actor: Actor, signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await Promise.race([once(signal, 'abort'), actor.awake.promise])
}

/** `build of 1 on web-2` counts before `build of 1`, that before `build on web-2`, and that before `build`. */
function exactness({ action, server }: Spot): number {
  return (action === undefined ? 0 : 2) + (server === undefined ? 0 : 1)
}

function endOf(ends: string): CommandEnd {
  const [verb, ...rest] = ends.split(' ')
  switch (verb) {
    case 'killed':
      return { kind: 'signalled', signal: rest.at(-1)! }
    case 'times':
      return { kind: 'timed-out' }
    case 'loses':
      return { kind: 'unreachable', message: 'The line to the server is down.' }
    case 'cannot':
      return { kind: 'impossible', message: 'There is no account with this name.' }
    case 'hangs':
      return { kind: 'exited', code: 0 }
    default:
      return { kind: 'exited', code: Number(rest[0]) }
  }
}

/** What a lost worker still does on a server cannot be helped; of the others no more may be at work than allowed. */
function limitFaults(
  { servers }: Scenario,
  running: Set<{ spot: WholeSpot; actor: Actor }>,
  server: string,
): string[] {
  const limit = servers[server]!.max_parallel_actions ?? 1
  const alive = [...running].filter((one) => one.spot.server === server && !one.actor.isLost)
  if (limit === 0 || alive.length <= limit) return []
  return [`at work together on ${server}: ${alive.map(({ spot }) => show(spot)).join(', ')}`]
}

function timeoutFaults({ pipelines }: Scenario, spot: WholeSpot, { timeoutMs }: CommandRequest): string[] {
  const allowed = Object.values(pipelines)
    .flatMap(({ steps }) => steps.filter(({ command }) => command === spot.command))
    .map(({ timeout_seconds = 600 }) => timeout_seconds * 1_000)
  return allowed.includes(timeoutMs) ? [] : [`${show(spot)} was given ${timeoutMs} ms`]
}
