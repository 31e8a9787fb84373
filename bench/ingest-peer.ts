import type { Bench, Figure } from './bench.ts'
import { alternate, median, medianRatio, ROUNDS } from './measure.ts'
import { type StartPeer, startNodeRed, startRestate, startWebhook, untilIdle } from './peers.ts'
import { CONNECTIONS, DELIVERY, openPushWorld, postOf, signedPush } from './push.ts'
import type { BenchServer } from './workbench.ts'

const SIZES = {
  full: { warmUpMs: 3_000, ms: 4_000, rounds: ROUNDS },
  smoke: { warmUpMs: 100, ms: 200, rounds: 1 },
}

/** By how much Gantry, which stores everything, should be faster. */
const PEERS: Record<string, { start: StartPeer; limit: number }> = {
  webhook: { start: startWebhook, limit: 2 },
  'node-red': { start: startNodeRed, limit: 1.3 },
  restate: { start: startRestate, limit: 4 },
}

/** The same signed push at other programs, one after another; those that are not installed are left out. */
export const ingestPeer: Bench = async (workbench, size) => {
  const { warmUpMs, ms, rounds } = SIZES[size]
  const { server, loader, secret, path } = await openPushWorld(workbench)
  const push = signedPush(secret)
  const load = (at: Pick<BenchServer, 'port' | 'cpuMs'> & { path: string }, duration: number) =>
    loader.load(at, {
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
      gantry: () => load({ ...server, path }, duration),
      peer: async () => {
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
