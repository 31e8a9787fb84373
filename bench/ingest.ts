import { createHmac } from 'node:crypto'
import { createTestTree } from '#test/world.ts'
import type { Bench, Size } from './bench.ts'
import { startChild } from './child.ts'
import { alternate, type Loader, median, medianRatio, ROUNDS, startLoader } from './measure.ts'
import type { BenchServer, Workbench } from './workbench.ts'

const SIZES = {
  full: { warmUpMs: 3_000, ms: 4_000, rounds: ROUNDS, calls: 100_000 },
  smoke: { warmUpMs: 100, ms: 200, rounds: 1, calls: 200 },
}
const CONNECTIONS = 32
const DELIVERY = 'delivery-000000000000000000000000'
const BIG = { per_second: 1_000_000, burst: 1_000_000 }

type World = { server: BenchServer; loader: Loader; secret: string; path: string; settings: object }

/** Signed pushes, each stored with all that it starts, against one row per call. */
export const ingest: Bench = async (workbench, size) => {
  const { warmUpMs, ms, rounds } = SIZES[size]
  const world = await openWorld(workbench)
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
      requests: [push(path, world.secret)],
      numbered: DELIVERY,
    })
  const parties = (duration: number) => ({
    ingest: load(world.path, world.server, duration),
    floor: load('/floor', floorServer, duration),
  })
  await alternate(1, parties(warmUpMs))
  const outcomes = await alternate(rounds, parties(ms))
  const rate = (name: 'ingest' | 'floor') => outcomes[name].map((outcome) => outcome.perSecond)
  const of = (name: 'ingest' | 'floor') => ({
    perSecond: median(rate(name)),
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
      details: { ingest: of('ingest'), floor: of('floor') },
    },
  ]
}

/** How long a caller waits at half the rate that is possible. */
export const ingestLatency: Bench = async (workbench, size) => {
  const { warmUpMs, ms } = SIZES[size]
  const { server, loader, secret, path } = await openWorld(workbench)
  const wish = { connections: CONNECTIONS, requests: [push(path, secret)], numbered: DELIVERY }
  const { perSecond } = await loader.load(server, { ...wish, ms: warmUpMs })
  const outcome = await loader.load(server, { ...wish, ms, perSecond: perSecond / 2 })
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

/** What the process holds after many calls, against the same after half of them. */
export const memory: Bench = async (workbench, size: Size) => {
  const { calls } = SIZES[size]
  const { server, loader, secret, path } = await openWorld(workbench)
  const half = {
    connections: CONNECTIONS,
    requests: [push(path, secret)],
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

async function openWorld(workbench: Workbench): Promise<World> {
  const database = await workbench.createDatabase('ingest')
  const tree = await createTestTree(database.db)
  // One target, as a first application has.
  await database.db.deleteFrom('application_servers').where('server_id', '=', tree.serverIds[1]!).execute()
  const server = await workbench.startServer(database.settings)
  const answer = await fetch(`${server.url}/pipelines/${tree.pipelineId}/hooks/incoming`, {
    method: 'POST',
    headers: { authorization: `Bearer ${tree.owner.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      name: 'Push',
      requires_secret: true,
      settings: { variables: VARIABLES, rate_limit: BIG },
    }),
  })
  const hook = (await answer.json()) as { url: string; secret: string }
  if (answer.status !== 201) throw new Error(`The hook was not created: ${answer.status}`)
  const loader = startLoader()
  workbench.defer(() => loader.stop())
  return {
    server,
    loader,
    secret: hook.secret,
    path: new URL(hook.url).pathname,
    settings: database.settings,
  }
}

const VARIABLES = [
  { name: 'branch', path: 'ref', type: 'string', required: true },
  { name: 'commit', path: 'after', type: 'string', required: true },
  { name: 'author', path: 'head_commit.author.name', type: 'string', required: false },
  { name: 'repository', path: 'repository.full_name', type: 'string', required: true },
  { name: 'commits', path: 'commits_count', type: 'integer', required: false, default_value: 0 },
]

/** A push as GitHub sends it, 7 kB. */
function push(path: string, secret: string): string {
  const person = { name: 'A developer', email: 'developer@example.com', username: 'developer' }
  const commits = Array.from({ length: 12 }, (_, number) => ({
    id: number.toString(16).padStart(40, 'c'),
    tree_id: number.toString(16).padStart(40, 't'),
    distinct: true,
    message: `Change number ${number} of several that were pushed together`,
    timestamp: '2026-11-15T08:00:00+01:00',
    url: `https://github.com/acme/shop/commit/${number.toString(16).padStart(40, 'c')}`,
    author: person,
    committer: person,
    modified: ['src/index.ts', 'src/pages/home.ts', 'README.md'],
  }))
  const body = JSON.stringify({
    ref: 'refs/heads/main',
    before: '0'.repeat(40),
    after: 'a'.repeat(40),
    commits_count: commits.length,
    repository: { id: 1, full_name: 'acme/shop', private: true, html_url: 'https://github.com/acme/shop' },
    pusher: person,
    commits,
    head_commit: commits[0],
  })
  const signature = createHmac('sha256', secret).update(body).digest('hex')
  return [
    `POST ${path} HTTP/1.1`,
    'host: bench',
    'user-agent: GitHub-Hookshot/bench',
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
    'x-github-event: push',
    `x-github-delivery: ${DELIVERY}`,
    `x-hub-signature-256: sha256=${signature}`,
    '',
    body,
  ].join('\r\n')
}
