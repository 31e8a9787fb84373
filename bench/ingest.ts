import { sql } from 'kysely'
import type { Database } from '#platform/database/connect.ts'
import type { TestTree } from '#test/support/world.ts'
import type { Bench, Size } from './bench.ts'
import { sendPushes, sendUntilWaiting, startFloor, summaryOf } from './calls.ts'
import { stopPreparing } from './gated.ts'
import { alternate, median, medianRatio, ROUNDS } from './measure.ts'
import {
  CONNECTIONS,
  createPushHook,
  DELIVERY,
  openPushWorld,
  openServiceWorld,
  type PushWorld,
  postOf,
  signedPush,
} from './push.ts'
import type { BenchServer } from './workbench.ts'

const SIZES = {
  full: { warmUpMs: 3_000, ms: 2_000, rounds: ROUNDS, roundsOfPairs: 9, calls: 100_000 },
  smoke: { warmUpMs: 100, ms: 200, rounds: 1, roundsOfPairs: 1, calls: 200 },
}

/**
 * Signed pushes, each stored with everything it starts, against one row per call. The details include the rate of that
 * single row with group commit, and what a call costs each process.
 */
export const ingest: Bench = async (workbench, size) => {
  const { warmUpMs, ms, rounds } = SIZES[size]
  const world = await openPushWorld(workbench)
  const floor = await startFloor(workbench, world)
  const parties = (duration: number) => ({
    ingest: () => sendPushes(world, world.called, { ms: duration }),
    floor: () => sendPushes(world, floor.alone, { ms: duration }),
  })
  await alternate(1, parties(warmUpMs))
  const outcomes = await alternate(rounds, parties(ms))
  await sendPushes(world, floor.grouped, { ms: warmUpMs })
  const grouped = await sendPushes(world, floor.grouped, { ms })
  const rate = (name: keyof typeof outcomes) => outcomes[name].map((outcome) => outcome.perSecond)
  return [
    {
      name: 'ingest',
      value: median(rate('ingest')),
      unit: '/s',
      ratio: medianRatio(rate('ingest'), rate('floor')),
      floor: 'one-row-each',
      goal: { of: 'ratio', is: 'at least', limit: 1 },
      details: {
        ingest: summaryOf(outcomes.ingest),
        floor: summaryOf(outcomes.floor),
        grouped: summaryOf([grouped]),
      },
    },
  ]
}

/** The same for a hook that is connected, whose calls are remembered, against one that is not. */
export const ingestConnected: Bench = async (workbench, size) => {
  const { warmUpMs, ms, roundsOfPairs } = SIZES[size]
  const world = await openPushWorld(workbench)
  const { connected, plain } = await openPair(world)
  const parties = (duration: number) => ({
    connected: () => sendPushes(connected, connected.called, { ms: duration }),
    plain: () => sendPushes(plain, plain.called, { ms: duration }),
  })
  await alternate(1, parties(warmUpMs))
  const outcomes = await alternate(roundsOfPairs, parties(ms))
  if ((await countRemembered(world.db)) === 0)
    throw new Error('The calls of the connected hook are not remembered.')
  const rate = (name: keyof typeof outcomes) => outcomes[name].map((outcome) => outcome.perSecond)
  return [
    {
      name: 'ingest-connected',
      value: median(rate('connected')),
      unit: '/s',
      ratio: medianRatio(rate('connected'), rate('plain')),
      floor: 'not-connected',
      goal: { of: 'ratio', is: 'at least', limit: 0.95 },
      details: { connected: summaryOf(outcomes.connected), plain: summaryOf(outcomes.plain) },
    },
  ]
}

/** Two hooks of one pipeline. What connects one of them is not running: only what it does to calls is measured. */
async function openPair(world: PushWorld & { server: BenchServer; tree: TestTree }) {
  const { db, server, tree } = world
  const owner = { pipelineId: tree.pipelineId, token: tree.owner.token }
  const { id, path, secret } = await createPushHook(server.url, owner)
  await sql`
    insert into hook_connections (hook_id, user_id, credential_id, provider, api_url, home_url, repository, events, state)
    values (${id}, ${tree.owner.id}, ${tree.credentialId}, 'github', 'https://api.github.com', 'https://github.com', 'acme/shop',
      '{push}', 'connected')`.execute(db)
  return { connected: { ...world, secret, called: { ...world.called, path } }, plain: world }
}

async function countRemembered(db: Database): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from hook_requests where delivery_id is not null and pushed_ref is not null`.execute(
    db,
  )
  return rows[0]!.count
}

/** The same against the whole service: a call counts when its action waits for the slot. */
export const ingestAll: Bench = async (workbench, size) => {
  const { warmUpMs, ms, rounds } = SIZES[size]
  const world = await openServiceWorld(workbench)
  const { alone } = await startFloor(workbench, world)
  const parties = (duration: number) => ({
    async all() {
      const outcome = await sendUntilWaiting(world, { ms: duration })
      if (workbench.atGate > 0) await stopPreparing(world.db)
      return outcome
    },
    floor: () => sendPushes(world, alone, { ms: duration }),
  })
  await alternate(1, parties(warmUpMs))
  const outcomes = await alternate(rounds, parties(ms))
  const rate = (name: keyof typeof outcomes) => outcomes[name].map((outcome) => outcome.perSecond)
  return [
    {
      name: 'ingest-all',
      value: median(rate('all')),
      unit: '/s',
      ratio: medianRatio(rate('all'), rate('floor')),
      floor: 'one-row-each',
      goal: { of: 'ratio', is: 'at least', limit: 0.8 },
      details: { all: summaryOf(outcomes.all), floor: summaryOf(outcomes.floor) },
    },
  ]
}

/** How long a caller waits at half the maximum rate, against the same at the floor and half of its rate. */
export const ingestLatency: Bench = async (workbench, size) => {
  const { warmUpMs, ms, rounds } = SIZES[size]
  const world = await openServiceWorld(workbench)
  const { alone } = await startFloor(workbench, world)
  const parties = (duration: number, perSecond: { all?: number; floor?: number }) => ({
    all: () => sendUntilWaiting(world, { ms: duration, perSecond: perSecond.all }),
    floor: () => sendPushes(world, alone, { ms: duration, perSecond: perSecond.floor }),
  })
  await alternate(1, parties(warmUpMs, {}))
  const fastest = await alternate(1, parties(ms, {}))
  const half = (name: keyof typeof fastest) => fastest[name][0]!.perSecond / 2
  const outcomes = await alternate(rounds, parties(ms, { all: half('all'), floor: half('floor') }))
  const p99 = (name: keyof typeof outcomes) => outcomes[name].map((outcome) => outcome.p99Ms)
  return [
    {
      name: 'ingest-latency',
      value: median(p99('all')),
      unit: 'ms',
      ratio: medianRatio(p99('all'), p99('floor')),
      floor: 'one-row-each',
      goal: { of: 'ratio', is: 'at most', limit: 3 },
      details: { all: summaryOf(outcomes.all), floor: summaryOf(outcomes.floor) },
    },
  ]
}

/** Memory of the process after many calls, compared with half as many. */
export const memory: Bench = async (workbench, size: Size) => {
  const { calls } = SIZES[size]
  const { server, loader, secret, called } = await openPushWorld(workbench)
  const half = {
    connections: CONNECTIONS,
    requests: [postOf(called.path, signedPush(secret))],
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
      goal: { of: 'value', is: 'at most', limit: 230 },
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
