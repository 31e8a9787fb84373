import type { Bench, Figure } from './bench.ts'
import { sendUntilWaiting } from './calls.ts'
import type { LoadOutcome } from './load.ts'
import { alternate, median, medianRatio, ROUNDS } from './measure.ts'
import { type StartPeer, startNodeRed, startRestate, startWebhook, untilIdle } from './peers.ts'
import { type Called, CONNECTIONS, DELIVERY, openServiceWorld, postOf, signedPush } from './push.ts'

const SIZES = {
  full: { warmUpMs: 3_000, ms: 2_000, rounds: ROUNDS },
  smoke: { warmUpMs: 100, ms: 200, rounds: 1 },
}

/** The rate of Gantry, which stores everything and schedules it, as a share of theirs. */
const PEERS: Record<string, { start: StartPeer; limit: number }> = {
  webhook: { start: startWebhook, limit: 0.8 },
  'node-red': { start: startNodeRed, limit: 0.5 },
  restate: { start: startRestate, limit: 1.5 },
}

/** The same signed push at other programs, one after another; those that are not installed are left out. */
export const ingestPeer: Bench = async (workbench, size) => {
  const { warmUpMs, ms, rounds } = SIZES[size]
  const world = await openServiceWorld(workbench)
  const { secret } = world
  const push = signedPush(secret)
  const load = (at: Omit<Called, 'pid'>, duration: number) =>
    world.loader.load(at, {
      connections: CONNECTIONS,
      ms: duration,
      requests: [postOf(at.path, push)],
      numbered: DELIVERY,
    })

  const figures: Figure[] = []
  for (const [name, { start, limit }] of Object.entries(PEERS)) {
    const peer = await start(workbench, push, secret)
    if (!peer) {
      console.error(`ingest-peer: ${name} is not installed, left out`)
      continue
    }
    const parties = (duration: number) => ({
      gantry: async (): Promise<LoadOutcome> => sendUntilWaiting(world, { ms: duration }),
      peer: async (): Promise<LoadOutcome> => {
        const outcome = await load(peer, duration)
        await untilIdle(peer)
        return outcome
      },
    })
    await alternate(1, parties(warmUpMs))
    const outcomes = await alternate(rounds, parties(ms))
    await peer.stop()
    const rate = (party: 'gantry' | 'peer') => outcomes[party].map(({ perSecond }) => perSecond)
    figures.push({
      name: `ingest-peer-${name}`,
      value: median(rate('gantry')),
      unit: '/s',
      ratio: medianRatio(rate('gantry'), rate('peer')),
      floor: name,
      goal: { of: 'ratio', is: 'at least', limit },
      details: { peerPerSecond: median(rate('peer')) },
    })
  }
  return figures
}
