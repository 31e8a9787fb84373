import type { Bench } from './bench.ts'
import { alternate, get, median, medianRatio, ROUNDS, startLoader } from './measure.ts'
import { storeActions } from './stored-actions.ts'

const SIZES = {
  full: { stored: 10_000, warmUpMs: 2_000, ms: 1_500, rounds: ROUNDS },
  smoke: { stored: 200, warmUpMs: 100, ms: 200, rounds: 1 },
}

const CONNECTIONS = 32
const DISTINCT = 2_000

/**
 * Hook deploys, each read in turn, against a constant response of the same size from the same server. There are too
 * many of them for a cache of whole responses to help.
 */
export const read: Bench = async (workbench, size) => {
  const { stored, warmUpMs, ms, rounds } = SIZES[size]
  const database = await workbench.createDatabase('read')
  const { owner } = await storeActions(database, stored)
  const actions = await database.db
    .selectFrom('actions')
    .select('id')
    .where('type', '=', 'deploy')
    .where('status', '=', 'completed')
    .where('trigger_type', '=', 'hook')
    .orderBy('id', 'desc')
    .limit(Math.min(DISTINCT, stored / 4))
    .execute()
  const server = await workbench.startServer(database.settings)
  const paths = actions.map(({ id }) => `/actions/${id}`)

  const answer = await fetch(server.url + paths[0]!, { headers: { authorization: `Bearer ${owner.token}` } })
  const text = await answer.text()
  if (answer.status !== 200) throw new Error(`GET ${paths[0]}: ${answer.status} ${text}`)
  const steps = (JSON.parse(text) as { targets: { steps: unknown[] }[] }).targets.map(
    (one) => one.steps.length,
  )
  if (steps.join() !== '6') throw new Error(`One target of 6 steps was expected, not ${steps.join()}`)
  await server.setConstant(text)

  const loader = startLoader()
  workbench.defer(() => loader.stop())
  const load = (requests: string[], duration: number) => () =>
    loader.load(server, { connections: CONNECTIONS, ms: duration, requests })
  const parties = (duration: number) => ({
    read: load(
      paths.map((path) => get(path, owner.token)),
      duration,
    ),
    constant: load([get('/bench/constant')], duration),
  })
  await alternate(1, parties(warmUpMs))
  const outcomes = await alternate(rounds, parties(ms))
  const rate = (name: 'read' | 'constant') => outcomes[name].map((outcome) => outcome.perSecond)
  const of = (name: 'read' | 'constant') => ({
    perSecond: median(rate(name)),
    p50Ms: median(outcomes[name].map((one) => one.p50Ms)),
    p99Ms: median(outcomes[name].map((one) => one.p99Ms)),
    serverCpuMsEach: median(outcomes[name].map((one) => one.serverCpuMs / one.answers)),
    serverCpuShare: median(outcomes[name].map((one) => one.serverCpuMs / one.wallMs)),
    clientCpuShare: median(outcomes[name].map((one) => one.cpuMs / one.wallMs)),
  })
  return [
    {
      name: 'read',
      value: median(rate('read')),
      unit: '/s',
      ratio: medianRatio(rate('read'), rate('constant')),
      floor: 'constant-json',
      goal: { of: 'ratio', is: 'at least', limit: 0.35 },
      details: { bytes: Buffer.byteLength(text), read: of('read'), constant: of('constant') },
    },
  ]
}
