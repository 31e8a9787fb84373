import { sql } from 'kysely'
import { countEndedRuns } from '#engine/counts/run-days.ts'
import type { Database, OpenDatabase } from '#platform/database/connect.ts'
import { createTestTree, type TestTree } from '#test/support/world.ts'
import type { Figure } from './bench.ts'
import { familyTime, parentOf } from './cpu.ts'
import { alternate, get, median, medianRatio, ROUNDS, startLoader } from './measure.ts'
import type { BenchServer, Workbench } from './workbench.ts'

const SIZES = {
  full: { many: [500, 10_000], few: [5, 100], ms: 2_000, rounds: ROUNDS, watchMs: 20_000 },
  smoke: { many: [50, 500], few: [5, 100], ms: 200, rounds: 1, watchMs: 1_000 },
} as const

/** As often as a page may ask again while runs keep changing; in between it follows the events. */
const REFETCH_MS = 10_000
const WATCHERS = 50
const MOVES_PER_SECOND = 20
const REQUESTS = { overview: '/overview', cards: '/overview/applications' }

type World = { tree: TestTree; server: BenchServer; database: OpenDatabase }

/** The requests of the overview with many applications and runs against few, and what it costs to leave many open. */
export async function overviewFigures(workbench: Workbench, size: 'full' | 'smoke'): Promise<Figure[]> {
  const { many, few, ms, rounds, watchMs } = SIZES[size]
  const worlds = {
    many: await openWorld(workbench, 'many', many),
    few: await openWorld(workbench, 'few', few),
  }
  const loader = startLoader()
  workbench.defer(() => loader.stop())
  const parties = Object.fromEntries(
    Object.entries(worlds).flatMap(([kind, { tree, server }]) =>
      Object.entries(REQUESTS).map(([name, path]) => [
        `${name} ${kind}`,
        () => loader.load(server, { connections: 1, ms, requests: [get(path, tree.owner.token)] }),
      ]),
    ),
  )
  await alternate(1, parties)
  const outcomes = await alternate(rounds, parties)
  const p95 = (name: string) => outcomes[name]!.map((outcome) => outcome.p95Ms)
  const figures = Object.keys(REQUESTS).flatMap((name): Figure[] => {
    const figure = {
      value: median(p95(`${name} many`)),
      unit: 'ms',
      ratio: medianRatio(p95(`${name} many`), p95(`${name} few`)),
      floor: `${few[0]}-applications`,
      details: {
        p50Ms: median(outcomes[`${name} many`]!.map((outcome) => outcome.p50Ms)),
        floorP95Ms: median(p95(`${name} few`)),
      },
    }
    return [
      { ...figure, name: `page-${name}-p95`, goal: { of: 'value', is: 'at most', limit: 60 } },
      { ...figure, name: `page-${name}-growth`, goal: { of: 'ratio', is: 'at most', limit: 3 } },
    ]
  })
  return [...figures, await watchFigure(worlds.many, watchMs)]
}

/** CPU time of the API and of PostgreSQL, in cores: what open pages add to that of the changes themselves. */
async function watchFigure({ tree, server, database }: World, ms: number): Promise<Figure> {
  const cost = async (watchers: number) => {
    const stop = new AbortController()
    const pages = Array.from({ length: watchers }, (_, index) =>
      keepOpen(server, tree.owner.token, (index * REFETCH_MS) / watchers, stop.signal),
    )
    await Promise.all(pages.map(({ opened }) => opened))
    const before = await cpuOf(server, database.db)
    const began = performance.now()
    await makeMoves(server, tree, ms)
    const cores = ((await cpuOf(server, database.db)) - before) / 1_000 / (performance.now() - began)
    stop.abort()
    const counts = await Promise.all(pages.map(({ ended }) => ended))
    return { cores, refetches: counts.reduce((sum, count) => sum + count, 0) }
  }
  const alone = await cost(0)
  const watched = await cost(WATCHERS)
  if (watched.refetches === 0) throw new Error('No page has asked again')
  return {
    name: 'page-open-overviews',
    value: watched.cores - alone.cores,
    unit: 'cores',
    ratio: watched.cores / alone.cores,
    floor: 'no-open-overviews',
    goal: { of: 'value', is: 'at most', limit: 0.5 },
    details: { alone, watched, watchers: WATCHERS, movesPerSecond: MOVES_PER_SECOND, refetchMs: REFETCH_MS },
  }
}

/** What an open page does: it listens, and asks again when something has changed, but not too often. */
function keepOpen(server: BenchServer, token: string, delayMs: number, signal: AbortSignal) {
  const headers = { authorization: `Bearer ${token}`, accept: 'application/json' }
  const opened = fetch(`${server.url}/actions/stream`, {
    headers: { ...headers, accept: 'text/event-stream' },
    signal,
  })
  let refetches = 0
  async function follow(): Promise<void> {
    let next = performance.now() + delayMs
    for await (const _ of (await opened).body!) {
      if (performance.now() < next) continue
      next = performance.now() + REFETCH_MS
      refetches += 1
      for (const path of Object.values(REQUESTS)) {
        const answer = await fetch(server.url + path, { headers, signal })
        if (!answer.ok) throw new Error(`GET ${path}: ${answer.status}`)
        await answer.arrayBuffer()
      }
    }
  }
  const ended = follow().catch((error) => {
    if (!signal.aborted) throw error
  })
  return { opened, ended: ended.then(() => refetches) }
}

/** Runs that are started and canceled, which makes two changes each: there is no worker to run them. */
async function makeMoves(server: BenchServer, { owner, pipelineId }: TestTree, ms: number): Promise<void> {
  const post = async (path: string) => {
    const answer = await fetch(server.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${owner.token}`, 'content-type': 'application/json' },
      body: '{}',
    })
    if (!answer.ok) throw new Error(`POST ${path}: ${answer.status} ${await answer.text()}`)
    return (await answer.json()) as { id: number }
  }
  const began = performance.now()
  for (let made = 0; performance.now() - began < ms; made += 2) {
    const { id } = await post(`/pipelines/${pipelineId}/actions`)
    await post(`/actions/${id}/cancel`)
    const due = began + ((made + 2) * 1_000) / MOVES_PER_SECOND
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, due - performance.now())))
  }
}

/** In microseconds: the server, and every process of its PostgreSQL. */
async function cpuOf(server: BenchServer, db: Database): Promise<number> {
  const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(db)
  const postmaster = await parentOf(rows[0]!.pid)
  return (await server.cpuMs()) * 1_000 + (await familyTime(postmaster))
}

async function openWorld(
  workbench: Workbench,
  name: string,
  [applications, runs]: readonly [number, number],
): Promise<World> {
  const database = await workbench.createDatabase(`overview_${name}`)
  const tree = await createTestTree(database.db)
  await storeApplications(database.db, tree, applications, runs)
  return { tree, database, server: await workbench.startServer(database.settings) }
}

/**
 * All in one environment, each with a deploy pipeline and two servers of twenty. Most runs completed, some failed; the newest of
 * each application is live, on one of ten only on one server.
 */
async function storeApplications(
  db: Database,
  { owner, environmentId, projectId, applicationId, pipelineId }: TestTree,
  applications: number,
  runs: number,
): Promise<void> {
  const statements = [
    sql`insert into servers (environment_id, name, provider_code, host, port, login_name, root_directory, created_by)
      select ${environmentId}, 'node-' || n, 'ssh', 'node-' || n || '.example.com', 22, 'deploy', '/srv', ${owner.id}
      from generate_series(1, 20) as n`,
    sql`insert into applications (environment_id, project_id, name, folder, repository, default_branch, created_by)
      select ${environmentId}, ${projectId}, 'Application ' || n, 'application-' || n, 'acme/application-' || n, 'main',
        ${owner.id} from generate_series(2, ${applications}::int) as n`,
    sql`insert into application_servers (application_id, server_id, environment_id)
      select app.id, s.id, ${environmentId} from applications app
      join servers s on s.name in ('node-' || app.id % 20 + 1, 'node-' || (app.id + 7) % 20 + 1)
      where app.id <> ${applicationId}`,
    sql`insert into pipelines (environment_id, resource_type, application_id, name, operation, created_by)
      select ${environmentId}, 'application', id, 'Deploy', 'deploy', ${owner.id} from applications
      where id <> ${applicationId}`,
    sql`update pipelines set max_parallel_actions = 0 where id = ${pipelineId}`,
    sql`insert into actions (environment_id, pipeline_id, type, status, status_reason_code, trigger_type, release_name, commit,
        deployment, started_at, completed_at, created_at)
      select ${environmentId}, p.id, 'deploy', status, upper(status), 'manual', to_char(made, 'YYYYMMDDHH24MISS'),
        json_build_object('hash', md5(n::text) || '01234567', 'message', 'Change number ' || n, 'url', null,
          'committed_at', made),
        json_build_object('type', 'deploy', 'source_type', 'branch', 'source_ref', 'main'),
        made, made + interval '40 seconds', made
      from generate_series(1, ${runs}::int) as n
      join (select id, row_number() over (order by id) as number from pipelines where operation = 'deploy') as p
        on p.number = n % ${applications}::int + 1,
      lateral (select now() - (${runs}::int - n) * interval '30 days' / ${runs}::int - interval '1 minute' as made,
        case when n % 11 = 0 then 'failed' else 'completed' end as status) as drawn
      order by n`,
    sql`insert into targets (action_id, position, server_id, status, status_reason_code, steps, started_at, completed_at)
      select a.id, row_number() over (partition by a.id order by link.server_id), link.server_id, a.status,
        a.status_reason_code, (select jsonb_agg(jsonb_build_object('order', n, 'step_id', n, 'name',
          case n when 6 then 'check-health' else 'step ' || n end, 'description', null, 'status', a.status,
          'reason', a.status_reason_code, 'started_at', null, 'completed_at', null)) from generate_series(1, 7) as n),
        a.started_at, a.completed_at
      from actions a join pipelines p on p.id = a.pipeline_id join application_servers link using (application_id)`,
    sql`insert into live_releases (application_id, server_id, action_id, release_name, commit_sha, since)
      select p.application_id, t.server_id, a.id, a.release_name, a.commit ->> 'hash', a.completed_at
      from pipelines p cross join lateral (
        select * from actions where pipeline_id = p.id and status = 'completed' order by id desc limit 1) as a
      join targets t on t.action_id = a.id where p.operation = 'deploy' and (t.position = 1 or p.id % 10 <> 0)`,
    sql`insert into deployments (action_id, application_id, environment_id, is_rollback, commit_sha, has_new_commit, server_ids,
        first_activated_at, last_activated_at, result, ended_at)
      select a.id, p.application_id, a.environment_id, false, a.commit ->> 'hash', true,
        array(select server_id from targets where action_id = a.id), a.completed_at, a.completed_at,
        a.status_reason_code, a.completed_at
      from actions a join pipelines p on p.id = a.pipeline_id where a.status = 'completed'`,
    sql`analyze`,
  ]
  for (const statement of statements) await statement.execute(db)
  // As a job does every few minutes.
  await countEndedRuns(db, { graceMinutes: 0 })
}
