import { createHmac } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Database, OpenDatabase } from '#platform/database/connect.ts'
import { createTestTree, type TestTree } from '#test/support/world.ts'
import { parentOf, processTime } from './cpu.ts'
import { requireApproval, storeAtGate } from './gated.ts'
import { type Loader, startLoader } from './measure.ts'
import { send } from './send.ts'
import { startService } from './service.ts'
import { type BenchServer, runStatement, type Workbench } from './workbench.ts'

/** What is called: a process that listens, and the URL of the hook there. */
export type Called = { pid: number; port: number; path: string; cpuMs(): Promise<number> }

/** A hook, the process that serves it, and the process that calls it. */
export type PushWorld = {
  called: Called
  loader: Loader
  secret: string
  db: Database
  settings: object
  /** The process of the database's postmaster. */
  postgres: number
}

export const CONNECTIONS = 32
/** A placeholder in every push; the loader replaces it with a unique number, so that no call is a duplicate. */
export const DELIVERY = 'delivery-000000000000000000000000'

const BIG = { per_second: 1_000_000, burst: 1_000_000 }
const VARIABLES = [
  { name: 'branch', path: 'ref', type: 'string', required: true },
  { name: 'commit', path: 'after', type: 'string', required: true },
  { name: 'author', path: 'head_commit.author.name', type: 'string', required: false },
  { name: 'repository', path: 'repository.full_name', type: 'string', required: true },
  { name: 'commits', path: 'commits_count', type: 'integer', required: false, default_value: 0 },
]
const STEPS = 6
const STARTED_WITHIN_MS = 30_000

/** The API alone, in front of a pipeline that deploys to one server. */
export async function openPushWorld(
  workbench: Workbench,
): Promise<PushWorld & { server: BenchServer; tree: TestTree }> {
  const database = await workbench.createDatabase('ingest')
  const tree = await createTestTree(database.db)
  // One target, as a first application has.
  await database.db.deleteFrom('application_servers').where('server_id', '=', tree.serverIds[1]!).execute()
  const server = await workbench.startServer(database.settings)
  await closeGate(workbench, server, database, tree, tree.pipelineId)
  return { ...(await openHook(workbench, database, server, tree, tree.pipelineId)), server, tree }
}

/** The service with its worker, and a pipeline whose only slot is taken: every call becomes an action that waits. */
export async function openServiceWorld(workbench: Workbench): Promise<PushWorld> {
  const database = await workbench.createDatabase('ingest')
  const tree = await createTestTree(database.db)
  const pipelineId = await makeBusyPipeline(database.db, tree, await workbench.makeFolder())
  const service = await startService(workbench, database.settings)
  const world = await openHook(workbench, database, service, tree, pipelineId)
  const { status } = await send(
    'POST',
    `${service.url}/pipelines/${pipelineId}/actions`,
    tree.owner.token,
    {},
  )
  if (status !== 201) throw new Error(`The first run was not started: ${status}`)
  const deadline = performance.now() + STARTED_WITHIN_MS
  while ((await countActions(database.db, 'in-progress')) === 0) {
    if (performance.now() > deadline) throw new Error('The first run did not take the slot.')
    await pause(50)
  }
  await closeGate(workbench, service, database, tree, pipelineId)
  return world
}

async function closeGate(
  { atGate }: Workbench,
  { url }: { url: string },
  { db, settings }: OpenDatabase,
  tree: TestTree,
  pipelineId: number,
): Promise<void> {
  if (atGate === 0) return
  await requireApproval(url, tree)
  await storeAtGate(db, { environmentId: tree.environmentId, pipelineId }, atGate)
  await runStatement(settings, 'vacuum analyze', 'checkpoint')
}

export async function countActions(db: Database, status: string): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from actions where status = ${status}`.execute(db)
  return rows[0]!.count
}

async function makeBusyPipeline(db: Database, tree: TestTree, folder: string): Promise<number> {
  const made = { environment_id: tree.environmentId, created_by: tree.owner.id }
  const server = await db
    .insertInto('servers')
    .values({ ...made, name: 'Here', provider_code: 'local', root_directory: folder })
    .returning('id')
    .executeTakeFirstOrThrow()
  const values = { resource_type: 'server' as const, server_id: server.id, name: 'Busy', operation: 'custom' }
  const pipeline = await db
    .insertInto('pipelines')
    .values({ ...made, ...values, max_parallel_actions: 1 })
    .returning('id')
    .executeTakeFirstOrThrow()
  const steps = Array.from({ length: STEPS }, (_, index) => ({
    pipeline_id: pipeline.id,
    position: index + 1,
    name: `step-${index + 1}`,
    command: index === 0 ? 'sleep 3600' : 'true',
    timeout_seconds: 3_600,
  }))
  await db.insertInto('pipeline_steps').values(steps).execute()
  return pipeline.id
}

async function openHook(
  workbench: Workbench,
  { db, settings }: OpenDatabase,
  { pid, port, url }: { pid: number; port: number; url: string },
  tree: TestTree,
  pipelineId: number,
): Promise<PushWorld> {
  const { path, secret } = await createPushHook(url, { pipelineId, token: tree.owner.token })
  const loader = startLoader()
  workbench.defer(() => loader.stop())
  const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(db)
  return {
    called: { pid, port, path, cpuMs: async () => (await processTime(pid)) / 1_000 },
    loader,
    secret,
    db,
    settings,
    postgres: await parentOf(rows[0]!.pid),
  }
}

/** A signed hook without a limit of its own, with the variables of a push. */
export async function createPushHook(
  url: string,
  { pipelineId, token }: { pipelineId: number; token: string },
): Promise<{ id: string; path: string; secret: string }> {
  const { status, body } = await send('POST', `${url}/pipelines/${pipelineId}/hooks/incoming`, token, {
    name: 'Push',
    requires_secret: true,
    settings: { variables: VARIABLES, rate_limit: BIG },
  })
  const hook = body as { id: string; url: string; secret: string }
  if (status !== 201) throw new Error(`The hook was not created: ${status}`)
  return { id: hook.id, path: new URL(hook.url).pathname, secret: hook.secret }
}

export type Push = { headers: Record<string, string>; body: string }

/** A push as GitHub sends it, 7 kB, signed. */
export function signedPush(secret: string): Push {
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
  return {
    headers: {
      'user-agent': 'GitHub-Hookshot/bench',
      'content-type': 'application/json',
      'x-github-event': 'push',
      'x-github-delivery': DELIVERY,
      'x-hub-signature-256': `sha256=${signature}`,
    },
    body,
  }
}

/** A push as it goes over the wire. */
export function postOf(path: string, { headers, body }: Push): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  const length = `content-length: ${Buffer.byteLength(body)}`
  return [`POST ${path} HTTP/1.1`, 'host: bench', ...lines, length, '', body].join('\r\n')
}
