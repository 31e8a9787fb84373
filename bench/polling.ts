import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Database } from '#platform/database/connect.ts'
import { createApplication, createPipeline, createServer } from '#test/support/inventory.ts'
import { createTestTree, type TestTree } from '#test/support/world.ts'
import type { Bench } from './bench.ts'
import { type Child, startChild } from './child.ts'
import { familyTime, parentOf } from './cpu.ts'
import type { GitHostQuestion } from './git-host.ts'
import { alternate, median } from './measure.ts'
import { send } from './send.ts'
import { startService } from './service.ts'
import type { Workbench } from './workbench.ts'

/** The shortest interval that hooks can have. */
const EVERY_S = 30
const SIZES = {
  full: { repositories: 50, ms: 20_000, rounds: 3 },
  smoke: { repositories: 3, ms: 500, rounds: 1 },
}
/** For what is asked when the interval is over: the request, the call, its run. */
const SEEN_WITHIN_S = 5
const RECORDED_WITHIN_MS = 60_000

/** What polling costs Gantry and its database beyond an idle service, and how long after a push its run exists. */
export const polling: Bench = async (workbench, size) => {
  const { repositories, ms, rounds } = SIZES[size]
  const world = await openWorld(workbench, repositories)
  const parties = {
    idle: () => cpuFor(ms, world, 'never'),
    polling: () => cpuFor(ms, world, 'spread'),
  }
  // The first poll of each only records where its branch is.
  await spread(world.db, 0)
  await recorded(world.db, repositories)
  await parties.polling()
  const shares = await alternate(rounds, parties)
  const middle = (party: keyof typeof parties, part: 'gantry' | 'postgres') =>
    median(shares[party].map((share) => share[part]))
  const added = (part: 'gantry' | 'postgres') => middle('polling', part) - middle('idle', part)
  const seconds = await timePushes(world, repositories, size)
  const figure = (part: 'gantry' | 'postgres', limit: number) => ({
    name: `polling-${part}`,
    value: Math.max(0, added(part)),
    unit: '%',
    ratio: middle('polling', part) / middle('idle', part),
    floor: 'no-polling',
    goal: { of: 'value' as const, is: 'at most' as const, limit },
    details: { whole: middle('polling', part), ...shares, repositories, everySeconds: EVERY_S },
  })
  return [
    figure('gantry', 2),
    figure('postgres', 2),
    {
      name: 'polling-seen',
      value: Math.max(...seconds),
      unit: 's',
      ratio: Math.max(...seconds) / EVERY_S,
      floor: 'the-interval',
      goal: { of: 'value', is: 'at most', limit: EVERY_S + SEEN_WITHIN_S },
      details: { medianSeconds: median(seconds), seconds },
    },
  ]
}

type World = { db: Database; host: Child; service: number; postgres: number; hookIds: string[] }

async function openWorld(workbench: Workbench, repositories: number): Promise<World> {
  const { db, settings } = await workbench.createDatabase('polling')
  const tree = await createTestTree(db)
  const host = startChild('./git-host.ts')
  workbench.defer(() => host.stop())
  const { port } = await host.ask<{ port: number }>({ kind: 'open', repositories } satisfies GitHostQuestion)
  const url = `http://127.0.0.1:${port}`
  const service = await startService(workbench, settings, { GANTRY_ALLOW_TARGETS: '127.0.0.0/8' })
  const credential = await created(`${service.url}/organizations/${tree.organizationId}/credentials`, tree, {
    ...{ name: 'Host', provider_code: 'gitea', base_url: url, token: 'token-of-the-host' },
  })
  const hookIds: string[] = []
  const place = { createdBy: tree.owner.id, environmentId: tree.environmentId }
  const serverId = await createServer(db, place, { root_directory: await workbench.makeFolder() })
  for (let number = 0; number < repositories; number += 1) {
    const applicationId = await createApplication(db, place, [serverId], {
      project_id: tree.projectId,
      name: `Shop ${number}`,
      folder: `shop-${number}`,
      repository: `${url}/acme/shop-${number}.git`,
      credential_id: Number(credential.id),
    })
    const pipelineId = await createPipeline(db, place, [{ name: 'nothing', command: 'true' }], {
      resource_type: 'application',
      application_id: applicationId,
      operation: 'restart',
    })
    const hook = await created(`${service.url}/pipelines/${pipelineId}/hooks/incoming`, tree, {
      name: 'Polled',
      settings: { poll: { every_seconds: EVERY_S } },
    })
    hookIds.push(String(hook.id))
  }
  const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(db)
  return { db, host, service: service.pid, postgres: await parentOf(rows[0]!.pid), hookIds }
}

async function created(url: string, { owner }: TestTree, input: object): Promise<{ id: unknown }> {
  const { status, body } = await send('POST', url, owner.token, input)
  if (status !== 201) throw new Error(`POST ${url}: ${status} ${JSON.stringify(body)}`)
  return body as { id: unknown }
}

/** In percent of a core. */
async function cpuFor(
  ms: number,
  { db, service, postgres }: World,
  polls: 'never' | 'spread',
): Promise<{ gantry: number; postgres: number }> {
  if (polls === 'never') await sql`update hook_polls set due_at = now() + interval '1 hour'`.execute(db)
  else await spread(db, EVERY_S)
  const before = { gantry: await familyTime(service), postgres: await familyTime(postgres) }
  const began = performance.now()
  await pause(ms)
  const percent = (us: number) => us / 10 / (performance.now() - began)
  return {
    gantry: percent((await familyTime(service)) - before.gantry),
    postgres: percent((await familyTime(postgres)) - before.postgres),
  }
}

/** They become due one after the other within these seconds. */
async function spread(db: Database, seconds: number): Promise<void> {
  await sql`
    update hook_polls p set due_at = now() + ${seconds}::float8 * o.place * interval '1 second'
    from (select hook_id, (row_number() over (order by hook_id) - 1)::float8 / count(*) over () as place from hook_polls) o
    where o.hook_id = p.hook_id`.execute(db)
}

async function recorded(db: Database, repositories: number): Promise<void> {
  const deadline = performance.now() + RECORDED_WITHIN_MS
  for (;;) {
    const { rows } = await sql<{ problem: string | null; count: number }>`
      select max(problem) as problem, (select count(*)::int from polled_refs) as count from hook_polls`.execute(
      db,
    )
    if (rows[0]!.problem !== null) throw new Error(`A repository cannot be polled: ${rows[0]!.problem}`)
    if (rows[0]!.count === repositories) return
    if (performance.now() > deadline) throw new Error('Not every repository was polled.')
    await pause(100)
  }
}

/** One push to each, spread over an interval; the seconds until each has a run. A smoke run does not wait for the interval. */
async function timePushes(
  { db, host, hookIds }: World,
  repositories: number,
  size: string,
): Promise<number[]> {
  await spread(db, EVERY_S)
  const pushedAt: number[] = []
  for (let repository = 0; repository < repositories; repository += 1) {
    const { at } = await host.ask<{ at: number }>({ kind: 'push', repository } satisfies GitHostQuestion)
    pushedAt.push(at)
    if (size === 'full') await pause((EVERY_S * 1_000) / repositories)
  }
  if (size === 'smoke') await spread(db, 0)
  const deadline = performance.now() + (EVERY_S + SEEN_WITHIN_S) * 2_000
  for (;;) {
    const { rows } = await sql<{ hook_id: string; at: number }>`
      select r.hook_id, extract(epoch from a.created_at)::float8 * 1000 as at
      from hook_requests r join actions a on a.id = r.action_id`.execute(db)
    const seenAt = new Map(rows.map(({ hook_id, at }) => [hook_id, at]))
    if (seenAt.size === repositories)
      return hookIds.map((id, index) => (seenAt.get(id)! - pushedAt[index]!) / 1_000)
    if (performance.now() > deadline) throw new Error(`Only ${seenAt.size} pushes were seen.`)
    await pause(500)
  }
}
