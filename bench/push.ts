import { createHmac } from 'node:crypto'
import { createTestTree } from '#test/support/world.ts'
import { type Loader, startLoader } from './measure.ts'
import type { BenchServer, Workbench } from './workbench.ts'

/** The hook that call benchmarks use, on a dedicated server, and the process that calls it. */
export type PushWorld = {
  server: BenchServer
  loader: Loader
  secret: string
  path: string
  settings: object
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

export async function openPushWorld(workbench: Workbench): Promise<PushWorld> {
  const database = await workbench.createDatabase('ingest')
  const tree = await createTestTree(database.db)
  // One target, as a first application has.
  await database.db.deleteFrom('application_servers').where('server_id', '=', tree.serverIds[1]!).execute()
  const server = await workbench.startServer(database.settings)
  const { path, secret } = await createPushHook(server.url, {
    pipelineId: tree.pipelineId,
    token: tree.owner.token,
  })
  const loader = startLoader()
  workbench.defer(() => loader.stop())
  return {
    server,
    loader,
    secret,
    path,
    settings: database.settings,
  }
}

/** A signed hook without a limit of its own, with the variables of a push. */
export async function createPushHook(
  url: string,
  { pipelineId, token }: { pipelineId: number; token: string },
): Promise<{ path: string; secret: string }> {
  const answer = await fetch(`${url}/pipelines/${pipelineId}/hooks/incoming`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      name: 'Push',
      requires_secret: true,
      settings: { variables: VARIABLES, rate_limit: BIG },
    }),
  })
  const hook = (await answer.json()) as { url: string; secret: string }
  if (answer.status !== 201) throw new Error(`The hook was not created: ${answer.status}`)
  return { path: new URL(hook.url).pathname, secret: hook.secret }
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
