import { type Child, startChild } from './child.ts'
import type { LoadOptions, LoadOutcome } from './load.ts'
import type { BenchServer } from './workbench.ts'

export const ROUNDS = 5

export type Loader = {
  pid: number
  /** Keeps `connections` busy with `requests`, one at a time each, for `ms`. */
  load(
    server: Pick<BenchServer, 'port' | 'cpuMs'>,
    options: Omit<LoadOptions, 'port'>,
  ): Promise<LoadOutcome & { serverCpuMs: number }>
  stop(): Promise<void>
}

export function startLoader(): Loader {
  const child: Child = startChild('./load.ts')
  return {
    pid: child.pid,
    async load(server, options) {
      const before = await server.cpuMs()
      const outcome = await child.ask<LoadOutcome>({ ...options, port: server.port })
      return { ...outcome, serverCpuMs: (await server.cpuMs()) - before }
    },
    stop: () => child.stop(),
  }
}

/** A GET as it goes over the wire. */
export function get(path: string, token?: string, encoding?: string): string {
  const authorization = token === undefined ? '' : `authorization: Bearer ${token}\r\n`
  const accepted = encoding === undefined ? '' : `accept-encoding: ${encoding}\r\n`
  return `GET ${path} HTTP/1.1\r\nhost: bench\r\naccept: application/json\r\n${authorization}${accepted}\r\n`
}

/** The parties take turns, in reverse order every other round, so that noise on the machine affects all of them. */
export async function alternate<Name extends string, Outcome>(
  rounds: number,
  parties: Record<Name, () => Promise<Outcome>>,
): Promise<Record<Name, Outcome[]>> {
  const names = Object.keys(parties) as Name[]
  const outcomes = Object.fromEntries(names.map((name) => [name, []])) as unknown as Record<Name, Outcome[]>
  for (let round = 0; round < rounds; round++) {
    for (const name of round % 2 === 0 ? names : names.toReversed())
      outcomes[name].push(await parties[name]())
  }
  return outcomes
}

/** The median of the ratios per round: noise in one round affects only that round. */
export function medianRatio(ours: readonly number[], floor: readonly number[]): number {
  return median(ours.map((value, round) => value / floor[round]!))
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}
