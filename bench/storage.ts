// Bytes on disk per call with a payload of 3 kB, by table: `node bench/storage.ts [calls] [runs]`.
import { createHash, createHmac } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { createTestTree } from '#test/support/world.ts'
import { makeIdlePipeline } from './idle-pipeline.ts'
import { CONNECTIONS, createPushHook, DELIVERY, openPushWorld, type Push, postOf } from './push.ts'
import { startService } from './service.ts'
import { openWorkbench, runStatement } from './workbench.ts'

const PAYLOAD_BYTES = 3_000
const VACUUMS = 20
/** Runs at a time. */
const PARALLEL = 8

const calls = Number(process.argv[2] ?? 20_000)
const runs = Number(process.argv[3] ?? 500)
const workbench = openWorkbench()
try {
  if (calls > 0) await measureCalls()
  if (runs > 0) await measureRuns()
} finally {
  await workbench.close()
}

/** Calls, each stored with the run that it starts; no worker runs it. */
async function measureCalls(): Promise<void> {
  const { server, loader, secret, called, settings } = await openPushWorld(workbench)
  const load = (most: number) =>
    loader.load(server, {
      connections: CONNECTIONS,
      ms: 600_000,
      most,
      requests: [postOf(called.path, signedPushOf3Kb(secret, DELIVERY))],
      numbered: DELIVERY,
    })
  // The first pages of every table and index.
  await load(1_000)
  await showGrowth(settings, `not run`, calls, () => load(calls))
}

/** Calls whose runs, of six steps that print a line, a worker has made. */
async function measureRuns(): Promise<void> {
  const { db, settings } = await workbench.createDatabase('storage')
  const tree = await createTestTree(db)
  const folder = await workbench.makeFolder()
  await mkdir(`${folder}/1`)
  const { pipelineId } = await makeIdlePipeline(db, tree, folder, { steps: 6, servers: 1 })
  const more = { max_parallel_actions: PARALLEL }
  await db.updateTable('pipelines').set(more).execute()
  await db.updateTable('servers').set(more).execute()
  await db.updateTable('pipeline_steps').set({ command: 'echo done' }).where('command', '=', 'true').execute()
  const { url } = await startService(workbench, settings)
  const hook = await createPushHook(url, { pipelineId, token: tree.owner.token })
  const run = async (count: number, kind: string) => {
    for (let number = 0; number < count; number += 1) {
      const { headers, body } = signedPushOf3Kb(hook.secret, `${kind}-${number}`)
      const answer = await fetch(`${url}${hook.path}`, { method: 'POST', headers, body })
      if (answer.status !== 202) throw new Error(`The call was not accepted: ${answer.status}`)
    }
    for (;;) {
      const open = db.selectFrom('actions').select('id').where('completed_at', 'is', null).limit(1)
      if (!(await open.executeTakeFirst())) return
      await pause(500)
    }
  }
  await run(50, 'first')
  // As autovacuum does: what earlier versions of rows took is available again, long before it is needed.
  await showGrowth(settings, 'run, vacuumed as they come', runs, async () => {
    for (let part = 0; part < VACUUMS; part += 1) {
      await run(runs / VACUUMS, `part-${part}`)
      await runStatement(settings, 'vacuum')
    }
  })
  await showGrowth(settings, 'run, not vacuumed', runs, () => run(runs, 'last'))
}

async function showGrowth(settings: object, what: string, count: number, work: () => Promise<unknown>) {
  await runStatement(settings, 'vacuum analyze')
  const before = await readSizes(settings)
  await work()
  const after = await readSizes(settings)
  const grown = [...after]
    .map(([name, size]) => ({ name, ...minus(size, before.get(name)) }))
    .filter((size) => total(size) > 0)
    .sort((a, b) => total(b) - total(a))
  const per = (bytes: number) => (bytes / count).toFixed(0).padStart(6)
  print(`bytes per call, ${count} calls with a payload of ${PAYLOAD_BYTES} bytes, ${what}`)
  for (const size of [...grown, sumOf(grown)]) {
    const { name, heap, toast, indexes } = size
    print(
      `${name.padEnd(24)} heap ${per(heap)} toast ${per(toast)} indexes ${per(indexes)} total ${per(total(size))}`,
    )
  }
}

type Size = { heap: number; toast: number; indexes: number }

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}

function total({ heap, toast, indexes }: Size): number {
  return heap + toast + indexes
}

function minus(size: Size, earlier: Size = { heap: 0, toast: 0, indexes: 0 }): Size {
  return {
    heap: size.heap - earlier.heap,
    toast: size.toast - earlier.toast,
    indexes: size.indexes - earlier.indexes,
  }
}

function sumOf(sizes: readonly Size[]): Size & { name: string } {
  const sum = (key: keyof Size) => sizes.reduce((before, size) => before + size[key], 0)
  return { name: 'all', heap: sum('heap'), toast: sum('toast'), indexes: sum('indexes') }
}

async function readSizes(settings: object): Promise<Map<string, Size>> {
  const client = new pg.Client(settings)
  await client.connect()
  try {
    const { rows } = await client.query<Size & { name: string }>(`
      select n.nspname || '.' || c.relname as name, pg_relation_size(c.oid)::float8 as heap,
        (pg_table_size(c.oid) - pg_relation_size(c.oid))::float8 as toast, pg_indexes_size(c.oid)::float8 as indexes
      from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where c.relkind = 'r' and n.nspname not in ('pg_catalog', 'information_schema')`)
    return new Map(rows.map(({ name, ...size }) => [name, size]))
  } finally {
    await client.end()
  }
}

/** A push of one commit. Its hashes and ids are as hard to compress as real ones. */
function signedPushOf3Kb(secret: string, delivery: string): Push {
  const hash = (text: string) => createHash('sha1').update(text).digest('hex')
  const person = { name: 'A developer', email: 'developer@example.com', username: 'developer' }
  const api = 'https://api.github.com/repos/acme/shop'
  const commit = {
    id: hash('commit'),
    tree_id: hash('tree'),
    distinct: true,
    message: 'Show the price of a product without taxes when the customer is a company',
    timestamp: '2026-11-15T08:00:00+01:00',
    url: `https://github.com/acme/shop/commit/${hash('commit')}`,
    author: person,
    committer: person,
    added: ['src/prices/without-taxes.ts'],
    removed: [],
    modified: ['src/index.ts', 'src/pages/home.ts', 'README.md'],
  }
  const push = {
    ref: 'refs/heads/main',
    before: hash('before'),
    after: hash('commit'),
    commits_count: 1,
    repository: {
      id: 186_853_002,
      node_id: 'MDEwOlJlcG9zaXRvcnkxODY4NTMwMDI=',
      full_name: 'acme/shop',
      private: true,
      html_url: 'https://github.com/acme/shop',
      ...Object.fromEntries(
        ['keys', 'teams', 'hooks', 'events', 'branches', 'tags', 'stargazers', 'commits'].map((name) => [
          `${name}_url`,
          `${api}/${name}{/id}`,
        ]),
      ),
    },
    pusher: person,
    commits: [commit],
    head_commit: commit,
    files: [] as string[],
  }
  while (Buffer.byteLength(JSON.stringify(push)) < PAYLOAD_BYTES - 60)
    push.files.push(`${hash(`file ${push.files.length}`)} src/file.ts`)
  const body = JSON.stringify(push).padEnd(PAYLOAD_BYTES)
  const signature = createHmac('sha256', secret).update(body).digest('hex')
  return {
    headers: {
      'user-agent': 'GitHub-Hookshot/bench',
      'content-type': 'application/json',
      'x-github-event': 'push',
      'x-github-delivery': delivery,
      'x-hub-signature-256': `sha256=${signature}`,
    },
    body,
  }
}
