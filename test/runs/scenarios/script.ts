// The one test double: an executor that does what the scenario says instead of running a command.
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import type { CommandEnd, CommandRequest } from '#adapters/executors/executor.ts'
import type { Reach } from '#engine/runner/running-target.ts'
import {
  type CommandRun,
  type Condition,
  fits,
  readCondition,
  readSpot,
  type Spot,
  show,
  waitFor,
} from './conditions.ts'
import type { Behavior, Scenario } from './scenario.ts'
import type { Stage } from './stage.ts'

/** A worker, as the script knows it. A lost one resumes at the end, when its jobs have been reassigned. */
export type Actor = { isLost: boolean; awake: PromiseWithResolvers<void> }

export type Script = {
  reachAs(actor: Actor): Reach
  holds(condition: Condition): Promise<boolean>
  /** What started on each server, in order. */
  ran: Record<string, string[]>
  /** What must not happen, and did. */
  violations: string[]
  /** How many executors are open. */
  open(): number
}

export function createScript(scenario: Scenario, stage: Stage): Script {
  const started: CommandRun[] = []
  const running = new Set<{ spot: CommandRun; actor: Actor }>()
  const ran = Object.fromEntries(Object.keys(scenario.servers).map((name): [string, string[]] => [name, []]))
  const violations: string[] = []
  const behaviors = Object.entries(scenario.commands)
    .map(([text, list]) => ({ spot: readSpot(text), list }))
    .sort((one, other) => exactness(other.spot) - exactness(one.spot))
  let open = 0

  async function holds(condition: Condition): Promise<boolean> {
    switch (condition.kind) {
      case 'runs':
        return started.filter((spot) => fits(condition.spot, spot)).length >= condition.times
      case 'prints':
        return stage.hasPrinted(condition.spot)
      case 'is':
        return stage.hasBeen(condition)
    }
  }

  /** The n-th run has the n-th behavior; the last one applies to all that follow. */
  function behaviorOf(spot: CommandRun): Behavior {
    const named = behaviors.find((one) => fits(one.spot, spot))
    if (!named) return {}
    const run = started.filter((one) => fits(named.spot, one)).length
    return named.list[Math.min(run, named.list.length) - 1]!
  }

  async function run(actor: Actor, server: string, request: CommandRequest): Promise<CommandEnd> {
    const action = await stage.numberOf(Number(request.environment.GANTRY_ACTION_ID))
    const spot = { command: request.command, action, server }
    started.push(spot)
    ran[server]!.push(`${spot.command} of ${action}`)
    const entry = { spot, actor }
    running.add(entry)
    violations.push(
      ...limitViolations(scenario, running, server),
      ...timeoutViolations(scenario, spot, request),
    )
    try {
      return await act(actor, behaviorOf(spot), request)
    } finally {
      running.delete(entry)
    }
  }

  async function act(actor: Actor, behavior: Behavior, request: CommandRequest): Promise<CommandEnd> {
    const { prints = '', until, takesMs, ends = 'exits 0', then_prints = '' } = behavior
    const signal = behavior.ignores_cancel ? new AbortController().signal : request.signal
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
    violations,
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

/** Commands of a lost worker continue when it resumes, as if nothing had happened. */
async function untilAwake(actor: Actor, signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await Promise.race([once(signal, 'abort'), actor.awake.promise])
}

/** `build of 1 on web-2` takes precedence over `build of 1`, that before `build on web-2`, and that before `build`. */
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
      return { kind: 'unreachable', message: 'The connection to the server was lost.' }
    case 'cannot':
      return { kind: 'impossible', message: 'There is no account with this name.' }
    case 'hangs':
      return { kind: 'exited', code: 0 }
    default:
      return { kind: 'exited', code: Number(rest[0]) }
  }
}

/** Commands of a lost worker do not count; of the others no more may run than the limit allows. */
function limitViolations(
  { servers }: Scenario,
  running: Set<{ spot: CommandRun; actor: Actor }>,
  server: string,
): string[] {
  const limit = servers[server]!.max_parallel_actions ?? 1
  const alive = [...running].filter((one) => one.spot.server === server && !one.actor.isLost)
  if (limit === 0 || alive.length <= limit) return []
  return [`running at the same time on ${server}: ${alive.map(({ spot }) => show(spot)).join(', ')}`]
}

function timeoutViolations(
  { pipelines }: Scenario,
  spot: CommandRun,
  { timeoutMs }: CommandRequest,
): string[] {
  const allowed = Object.values(pipelines)
    .flatMap(({ steps }) => steps.filter(({ command }) => command === spot.command))
    .map(({ timeout_seconds = 600 }) => timeout_seconds * 1_000)
  return allowed.includes(timeoutMs) ? [] : [`${show(spot)} has a timeout of ${timeoutMs} ms`]
}
