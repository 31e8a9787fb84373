import type { Bench, Figure } from './bench.ts'
import { alternate, get, type Loader, median, medianRatio, ROUNDS, startLoader } from './measure.ts'
import { type StoredActions, storeActions } from './stored-actions.ts'
import type { BenchServer, Workbench } from './workbench.ts'

const SIZES = {
  full: { many: 1_000_000, few: 1_000, deepPage: 10_000, ms: 400, rounds: ROUNDS },
  smoke: { many: 4_000, few: 1_000, deepPage: 100, ms: 100, rounds: 1 },
}

const PER_PAGE = 25

type World = StoredActions & { server: BenchServer }

/** A page of actions among many costs what it costs among few. One connection: what a person waits for. */
export const list: Bench = async (workbench, size) => {
  const { many, few, deepPage, ms, rounds } = SIZES[size]
  const worlds = {
    many: await openWorld(workbench, 'many', many),
    few: await openWorld(workbench, 'few', few),
  }
  const loader = startLoader()
  workbench.defer(() => loader.stop())

  // Values that fill a page in both worlds, so that the same number of actions is shown.
  const queries: Record<string, (world: World) => string> = {
    plain: () => '',
    status: () => '&filter[status]=failed',
    'pipeline-status': ({ pipelineId }) => `&filter[pipeline_id]=${pipelineId}&filter[status]=completed`,
    'project-type': ({ projectId }) => `&filter[project_id]=${projectId}&filter[type]=deploy`,
  }
  const paths = new Map<string, { world: World; path: string }>()
  for (const [name, query] of Object.entries(queries)) {
    for (const [kind, world] of Object.entries(worlds))
      paths.set(`${name} ${kind}`, { world, path: `/actions?per_page=${PER_PAGE}${query(world)}` })
  }
  paths.set('deep many', {
    world: worlds.many,
    path: `/actions?per_page=${PER_PAGE}&page=${deepPage}`,
  })
  for (const { world, path } of paths.values()) await assertFullPage(world, path)

  const run = (duration: number) => (name: string) => () => loadPage(loader, paths.get(name)!, duration)
  const names = [...paths.keys()]
  const parties = (duration: number) =>
    Object.fromEntries(names.map((name) => [name, run(duration)(name)] as const))
  await alternate(1, parties(ms))
  const outcomes = await alternate(rounds, parties(ms))
  const p50 = (name: string) => outcomes[name]!.map((outcome) => outcome.p50Ms)

  const figure = (name: string, ours: string, floor: string, floorName: string, limit: number): Figure => ({
    name,
    value: median(p50(ours)),
    unit: 'ms',
    ratio: medianRatio(p50(ours), p50(floor)),
    floor: floorName,
    goal: { of: 'ratio', is: 'at most', limit },
    details: {
      path: paths.get(ours)!.path,
      floorMs: median(p50(floor)),
      p99Ms: median(outcomes[ours]!.map((outcome) => outcome.p99Ms)),
      serverCpuMsEach: median(outcomes[ours]!.map((outcome) => outcome.serverCpuMs / outcome.answers)),
    },
  })
  return [
    figure('list', 'plain many', 'plain few', `${few}-stored`, 1.5),
    figure(`list-page-${deepPage}`, 'deep many', 'plain many', 'page-1', 3),
    ...['status', 'pipeline-status', 'project-type'].map((name) =>
      figure(`list-by-${name}`, `${name} many`, `${name} few`, `${few}-stored`, 2),
    ),
  ]
}

async function openWorld(workbench: Workbench, name: string, count: number): Promise<World> {
  const database = await workbench.createDatabase(`list_${name}`)
  const stored = await storeActions(database, count)
  return { ...stored, server: await workbench.startServer(database.settings) }
}

function loadPage(loader: Loader, { world, path }: { world: World; path: string }, ms: number) {
  return loader.load(world.server, { connections: 1, ms, requests: [get(path, world.owner.token)] })
}

async function assertFullPage({ server, owner }: World, path: string): Promise<void> {
  const answer = await fetch(server.url + path, { headers: { authorization: `Bearer ${owner.token}` } })
  const items = (await answer.json()) as unknown[]
  if (answer.status !== 200 || items.length !== PER_PAGE)
    throw new Error(`GET ${path}: ${answer.status} with ${items.length} actions instead of ${PER_PAGE}`)
}
