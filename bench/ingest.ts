import type { Bench, Size } from './bench.ts'
import { startChild } from './child.ts'
import { alternate, median, medianRatio, ROUNDS } from './measure.ts'
import { CONNECTIONS, DELIVERY, openPushWorld, postOf, signedPush } from './push.ts'
import type { BenchServer } from './workbench.ts'

type Party = 'ingest' | 'floor' | 'grouped'

const SIZES = {
  full: { warmUpMs: 3_000, ms: 4_000, rounds: ROUNDS, calls: 100_000 },
  smoke: { warmUpMs: 100, ms: 200, rounds: 1, calls: 200 },
}

/**
 * Signed pushes, each stored with everything it starts, against one row per call. The details include the rate of that
 * single row with group commit.
 */
export const ingest: Bench = async (workbench, size) => {
  const { warmUpMs, ms, rounds } = SIZES[size]
  const world = await openPushWorld(workbench)
  const floor = startChild('./floor-server.ts')
  workbench.defer(() => floor.stop())
  const { port } = await floor.ask<{ port: number }>({
    kind: 'open',
    settings: world.settings,
    secret: world.secret,
  })
  const floorServer = { port, cpuMs: async () => (await floor.ask<{ ms: number }>({ kind: 'cpu' })).ms }
  const load = (path: string, server: Pick<BenchServer, 'port' | 'cpuMs'>, duration: number) => () =>
    world.loader.load(server, {
      connections: CONNECTIONS,
      ms: duration,
      requests: [postOf(path, signedPush(world.secret))],
      numbered: DELIVERY,
    })
  const parties = (duration: number) => ({
    ingest: load(world.path, world.server, duration),
    floor: load('/floor', floorServer, duration),
    grouped: load('/grouped', floorServer, duration),
  })
  await alternate(1, parties(warmUpMs))
  const outcomes = await alternate(rounds, parties(ms))
  const rate = (name: Party) => outcomes[name].map((outcome) => outcome.perSecond)
  const of = (name: Party) => ({
    perSecond: median(rate(name)),
    ratio: medianRatio(rate(name), rate('floor')),
    p50Ms: median(outcomes[name].map((one) => one.p50Ms)),
    p99Ms: median(outcomes[name].map((one) => one.p99Ms)),
    serverCpuMsEach: median(outcomes[name].map((one) => one.serverCpuMs / one.answers)),
  })
  return [
    {
      name: 'ingest',
      value: median(rate('ingest')),
      unit: '/s',
      ratio: medianRatio(rate('ingest'), rate('floor')),
      floor: 'one-row-each',
      goal: { of: 'ratio', is: 'at least', limit: 2 },
      details: { ingest: of('ingest'), floor: of('floor'), grouped: of('grouped') },
    },
  ]
}

/** How long a caller waits at half the maximum rate. */
export const ingestLatency: Bench = async (workbench, size) => {
  const { warmUpMs, ms } = SIZES[size]
  const { server, loader, secret, path } = await openPushWorld(workbench)
  const options = {
    connections: CONNECTIONS,
    requests: [postOf(path, signedPush(secret))],
    numbered: DELIVERY,
  }
  const { perSecond } = await loader.load(server, { ...options, ms: warmUpMs })
  const outcome = await loader.load(server, { ...options, ms, perSecond: perSecond / 2 })
  return [
    {
      name: 'ingest-latency',
      value: outcome.p99Ms,
      unit: 'ms',
      ratio: outcome.p99Ms / outcome.p50Ms,
      floor: 'median',
      goal: { of: 'value', is: 'at most', limit: 50 },
      details: { p50Ms: outcome.p50Ms, perSecond: outcome.perSecond },
    },
  ]
}

/** Memory of the process after many calls, compared with half as many. */
export const memory: Bench = async (workbench, size: Size) => {
  const { calls } = SIZES[size]
  const { server, loader, secret, path } = await openPushWorld(workbench)
  const half = {
    connections: CONNECTIONS,
    requests: [postOf(path, signedPush(secret))],
    numbered: DELIVERY,
    ms: 60_000,
    most: calls / 2,
  }
  const atRest = await server.memoryMib()
  await loader.load(server, half)
  const middle = await server.memoryMib()
  await loader.load(server, half)
  const end = await server.memoryMib()
  return [
    {
      name: 'memory',
      value: end,
      unit: 'MiB',
      ratio: end / middle,
      floor: 'half-way',
      goal: { of: 'value', is: 'at most', limit: 200 },
      details: { atRest, middle },
    },
    {
      name: 'memory-growth',
      value: end - middle,
      unit: 'MiB',
      ratio: end / middle,
      floor: 'half-way',
      goal: { of: 'ratio', is: 'at most', limit: 1.1 },
    },
  ]
}
